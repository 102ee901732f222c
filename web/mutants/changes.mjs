// Small ways of breaking a file of src, each a change of one node of its syntax tree.
//
// Not changed: types, imports, comments, and the wording of errors. That an error is thrown is changed: a `throw` or a
// statement that checks is removed, conditions are turned round.
import * as ts from "typescript/unstable/ast";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API } from "typescript/unstable/sync";

const { SyntaxKind: Kind } = ts;
const OPERATORS = new Map([
  ["<", "<="], ["<=", "<"], [">", ">="], [">=", ">"], ["===", "!=="], ["!==", "==="],
  ["+", "-"], ["-", "+"], ["*", "/"], ["/", "*"], ["%", "/"], ["**", "*"],
  ["<<", ">>"], [">>", "<<"], ["&", "|"], ["|", "&"], ["^", "&"],
  ["&&", "||"], ["||", "&&"], ["??", "&&"],
  ["+=", "-="], ["-=", "+="], ["*=", "/="], ["|=", "&="], ["&=", "|="], ["^=", "&="], ["<<=", ">>="], [">>=", "<<="],
]);
const LEVELS = ["< <= > >=", "=== !==", "+ -", "* / %", "<< >>", "+= -= *= /= |= &= ^= <<= >>="].map((signs) => new Set(signs.split(" ")));
const METHODS = { min: "max", max: "min", floor: "ceil", ceil: "floor", every: "some", some: "every", padStart: "padEnd", padEnd: "padStart" };
const LEFT_OUT = new Set(["sort", "filter", "reverse"]); // what they are called on is taken as it is
const CHECKS = new Set(["ensure", "rule", "integer", "big", "listed", "digits", "fields"]); // their texts are for people
const SYMMETRIC = new Set([...CHECKS, "min", "max"]); // nothing is learnt by swapping what these are given

/** Returns every change of a source: from where to where it is replaced, by what, and a name that stays. */
export function changes(source) {
  const config = JSON.stringify({ compilerOptions: { noLib: true }, files: ["source.ts"] });
  const api = new API({ cwd: "/", fs: createVirtualFileSystem({ "/tsconfig.json": config, "/source.ts": source }) });
  try {
    const [project] = api.updateSnapshot({ openProjects: ["/tsconfig.json"] }).getProjects();
    return [...named(project.program.getSourceFile("/source.ts"))];
  } finally {
    api.close();
  }
}

function* named(file) {
  const seen = new Map();
  for (const trail of trails(file, [])) {
    const node = trail.at(-1);
    for (const { of = node, instead } of replacements(node, trail)) {
      const [start, end] = [of.getStart(), of.getEnd()];
      const shown = surroundings(trail);
      const from = Math.min(shown.getStart(), start);
      const to = Math.max(shown.getEnd(), end);
      const whole = plain(file.text.slice(from, to));
      const after = plain(file.text.slice(from, start) + instead + file.text.slice(end, to));
      const before = whole.length > 120 && after.length < 24 ? `${whole.slice(0, 80)} ...` : whole; // it is left out
      const name = `${where(trail)}: ${before} -> ${after}`;
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      yield { key: count > 1 ? `${name} (${count})` : name, start, end, instead };
    }
  }
}

const plain = (text) => text.replace(/\s+/g, " ").trim();

/** Goes through all nodes that may be changed, each with those above it. */
function* trails(node, above) {
  if (skipped(node, above.at(-1))) return;
  const trail = [...above, node];
  yield trail;
  const children = [];
  node.forEachChild((child) => void children.push(child));
  for (const child of children) yield* trails(child, trail);
}

function skipped(node, parent) {
  switch (node.kind) {
    case Kind.ImportDeclaration:
    case Kind.ExportDeclaration:
    case Kind.InterfaceDeclaration:
    case Kind.TypeAliasDeclaration:
    case Kind.JSDoc:
      return true;
    case Kind.StringLiteral:
    case Kind.NoSubstitutionTemplateLiteral:
    case Kind.TemplateExpression:
      return wording(node, parent);
    default:
      // What a class extends is no type, although it stands where one could.
      return ts.isTypeNode(node) && node.kind !== Kind.ExpressionWithTypeArguments;
  }
}

/** Whether a text is for people: a sentence, or the name of a thing in an error. */
function wording(node, parent) {
  if (/\S \S/.test(node.getText().replace(/\$\{[^}]*\}/g, "x"))) return true;
  return (isCall(parent) && CHECKS.has(nameOf(parent.expression))) || parent?.kind === Kind.NewExpression;
}

const isCall = (node) => node?.kind === Kind.CallExpression;
const nameOf = (node) => (node.kind === Kind.PropertyAccessExpression ? node.name : node).getText();

/** Returns what may stand in the place of a node. */
function* replacements(node, trail) {
  const parent = trail.at(-2);
  const text = node.getText();
  const conditions = [parent?.condition, [Kind.IfStatement, Kind.WhileStatement].includes(parent?.kind) && parent.expression];
  if (conditions.includes(node) && turns(node)) yield { instead: `!(${text})` };
  switch (node.kind) {
    case Kind.BinaryExpression:
      yield* otherOperator(node, parent);
      break;
    case Kind.PrefixUnaryExpression:
    case Kind.PostfixUnaryExpression: {
      const operand = node.operand.getText();
      if (/^(\+\+|--)|(\+\+|--)$/.test(text)) yield { instead: text.replace(/\+\+|--/, (sign) => (sign === "++" ? "--" : "++")) };
      else if (node.operand.kind !== Kind.NumericLiteral) yield { instead: operand };
      break;
    }
    case Kind.NumericLiteral:
      yield* otherNumber(node, parent);
      break;
    case Kind.BigIntLiteral:
      for (const step of [1n, -1n]) yield { instead: `${BigInt(text.slice(0, -1)) + step}n` };
      break;
    case Kind.TrueKeyword:
    case Kind.FalseKeyword:
      yield { instead: String(node.kind === Kind.FalseKeyword) };
      break;
    case Kind.StringLiteral:
    case Kind.NoSubstitutionTemplateLiteral:
    case Kind.TemplateExpression:
      yield { instead: `${text.slice(0, -1)}?${text.at(-1)}` };
      break;
    case Kind.RegularExpressionLiteral:
      yield* otherPattern(text);
      break;
    case Kind.PropertyAccessExpression:
      if (node.questionDotToken) yield { of: node.questionDotToken, instead: "." };
      break;
    case Kind.CallExpression:
      yield* otherCall(node);
      break;
    case Kind.ArrowFunction:
      if (node.body.kind !== Kind.Block) yield { of: node.body, instead: "undefined" };
      break;
    case Kind.ReturnStatement:
      if (node.expression && node.expression.getText() !== "undefined") yield { instead: "return undefined;" };
      break;
    case Kind.ThrowStatement:
      yield { instead: ";" };
      break;
    case Kind.ExpressionStatement:
      if (!isCall(node.expression) || node.expression.expression.kind !== Kind.SuperKeyword) yield { instead: ";" };
      break;
    case Kind.ContinueStatement:
    case Kind.BreakStatement:
      yield { instead: node.kind === Kind.BreakStatement ? "continue;" : "break;" };
  }
}

/** Whether a condition is worth turning round: one of `===`, `!==` or `!` is by itself. */
function turns(node) {
  if (node.kind === Kind.PrefixUnaryExpression) return false;
  return node.kind !== Kind.BinaryExpression || !/^[!=]==$/.test(node.operatorToken.getText());
}

function* otherOperator(node, parent) {
  const sign = node.operatorToken.getText();
  const other = OPERATORS.get(sign);
  if (sign === "instanceof" || sign === "in") yield { instead: `!(${node.getText()})` };
  if (!other) return;
  // A sign that binds otherwise than its neighbours expect needs brackets, inside and around.
  const alike = (part) => LEVELS.some((level) => level.has(sign) && level.has(other)) || part?.kind !== Kind.BinaryExpression;
  const inner = (part) => (alike(part) ? part.getText() : `(${part.getText()})`);
  const text = `${inner(node.left)} ${other} ${inner(node.right)}`;
  yield { instead: alike(parent) ? text : `(${text})` };
}

function* otherNumber(node, parent) {
  const text = node.getText();
  const value = Number(text.replaceAll("_", ""));
  const negative = parent.kind === Kind.PrefixUnaryExpression;
  const [of, signed] = negative ? [parent, -value] : [node, value];
  if (!Number.isInteger(value)) yield { instead: `${value * 2 + 1}` };
  else {
    yield { of, instead: `${signed + 1}` };
    // There is nothing before the first.
    if (value || parent.kind !== Kind.ElementAccessExpression) yield { of, instead: negative ? `${signed - 1}` : bracketed(signed - 1, parent) };
  }
}

/** -1 before ** must stand in brackets. */
const bracketed = (value, parent) => (value < 0 && parent.operatorToken?.kind === Kind.AsteriskAsteriskToken ? `(${value})` : `${value}`);

/** Without an anchor, and with one more of what is counted. */
function* otherPattern(text) {
  if (text.startsWith("/^")) yield { instead: `/${text.slice(2)}` };
  if (/\$\/[a-z]*$/.test(text)) yield { instead: text.replace(/\$(\/[a-z]*)$/, "$1") };
  const counts = /\{(?:\d+,)?(\d+)\}/;
  if (counts.test(text)) yield { instead: text.replace(counts, (all, most) => all.replace(`${most}}`, `${+most + 1}}`)) };
}

function* otherCall(node) {
  const callee = node.expression;
  const name = nameOf(callee);
  if (callee.kind === Kind.PropertyAccessExpression) {
    if (Object.hasOwn(METHODS, name)) yield { of: callee.name, instead: METHODS[name] };
    if (LEFT_OUT.has(name)) yield { instead: callee.expression.getText() };
  }
  const given = [...node.arguments];
  if (given.length === 2 && !SYMMETRIC.has(name) && given.every(({ kind }) => kind !== Kind.SpreadElement)) {
    yield { instead: `${callee.getText()}(${given[1].getText()}, ${given[0].getText()})` };
  }
}

/** Returns the names of what a node is in. */
function where(trail) {
  const inside = trail.filter(({ kind, initializer }, i) =>
    kind === Kind.VariableDeclaration
      ? trail[i - 3]?.kind === Kind.SourceFile && initializer?.kind === Kind.ArrowFunction
      : [Kind.FunctionDeclaration, Kind.ClassDeclaration, Kind.MethodDeclaration, Kind.GetAccessor].includes(kind),
  );
  const maker = trail.some(({ kind }) => kind === Kind.Constructor) ? ["constructor"] : [];
  return [...inside.map(({ name }) => name.getText()), ...maker].join(".") || "module";
}

const APART = ["SourceFile", "Block", "ForStatement", "ForOfStatement", "IfStatement", "ClassDeclaration", "Constructor"].map((name) => Kind[name]);

/** Returns what to show of a change: a few words around it. */
function surroundings(trail) {
  let shown = trail.at(-1);
  for (const node of [...trail].reverse()) {
    const { length } = plain(node.getText());
    if (APART.includes(node.kind) || length > 100) break;
    shown = node;
    if (length > 24) break;
  }
  return shown;
}
