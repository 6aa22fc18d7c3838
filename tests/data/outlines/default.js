export default () => 1;
export default function () {}
