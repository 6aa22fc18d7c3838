/** A shop. */
import { x } from 'y';

export const LIMIT = 3, OTHER = 4;
let counter = 0;
var legacy = 1;
export let changing = 2;
export const api = { get() {}, put: function () {}, del: async () => 1, 'not-a-name': () => 2, 7: () => 3 };
const table = { a: 1, get size() { return 1; } };
var old = { f() {} };
module.exports.config = { port: 1 };

// A cart.
export class Cart extends Base {
  static #secret = 1;
  count = 0;
  handler = () => {};
  constructor(items) { super(items); }
  get price() { return 1; }
  set price(value) {}
  @logged
  async add(item, n = 1) { function inner() {} const arrow = () => {}; }
  #hidden() {}
}
const Shape = class { area() {} };
let Named = class Inner {};
exports.Model = class {};

function plain(a, b) { return a; }
function* numbers() { yield 1; }
const arrow = (a) => a;
var func = function () {};
later = async () => {};
Cart.prototype.sum = function sum() {};
exports.run = function () {};
handlers['on-close'] = function () {};
wrapped = (function () {});
started = (function () { return 1; })();
var module1 = (() => 1)();
const Button = React.memo(function Inner2() {});
export default class {}
class Été { größe() { return 'é'; } }
var Old = class {};
