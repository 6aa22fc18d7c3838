/** A button. */
export const Button: React.FC<Props> = ({ label }) => <button>{label}</button>;
export default function App(props: Props) { return <Button label="ä" />; }
const Memo = React.memo(() => <i />);
const Ref = forwardRef<Node, Props>((props, ref) => <b ref={ref} />);
interface Props { label: string; onClick(): void; }
class Panel extends React.Component<Props> {
  state = { open: false };
  render() { return <div>{this.props.label}</div>; }
}
