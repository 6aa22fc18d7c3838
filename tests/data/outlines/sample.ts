/** Ids. */
export type Id = string | number;
export const LIMIT: number = 3;
export enum Color { Red, Green = 'g' }
export interface Shape<T> extends Base { area: number; draw(at: T): void; }
namespace Geo { export function far(): void {} }
declare module "pixi" { export function go(): void; }
export abstract class Figure { abstract draw(): void; }
/** Foo. */
@Component({ selector: 'x' })
export class Foo<T> extends Bar {
  private readonly z: number = 1;
  handler = async () => {};
  constructor(private a: string) { super(); }
  get value(): number { return 1; }
  @Input() async bar<T>(x: T): Promise<void> { const local = () => 1; }
}
function over(a: string): void;
function over(a: any) {}
const cast = <Foo>thing;
