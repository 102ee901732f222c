// Texts: their codes and points are those of the vectors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, vectors } from "./words.mjs";

const { Plan, PlanError, RecordError, randomiseFrom, SystemCoins } = hush;
const file = vectors("texts");

/** Sorted keys, and floats as Python writes them: there are none here. */
const canonical = (value) =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(",")}]`
    : value !== null && typeof value === "object"
      ? `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`
      : JSON.stringify(value);

/** A plan that asks about a text by one view, whose answer is nearly always the truth. */
async function planOf(attribute, view, size, more = []) {
  const channel = { kind: "subset", size, weight: 1, threshold: String((1n << 64n) * 99n / 100n) };
  const shell = JSON.parse(vectors("channel-subset").plan);
  const others = more.map(({ name }) => ({ ...view, of: [name] }));
  const plan = { ...shell, schema: [attribute, ...more], k: 1, epsilon: "16.0", questions: [view, ...others].map((one) => ({ channel, views: [one] })) };
  return Plan.parse(canonical(plan).replace('"epsilon":"16.0"', `"epsilon":${JSON.stringify(shell.epsilon).includes('"') ? '"16.0"' : "16.0"}`));
}

test("points are those of the vectors", async () => {
  const plans = new Map();
  for (const { attribute, value, points, among } of file.good) {
    const key = canonical(attribute);
    if (!plans.has(key)) {
      const made = [];
      for (const chunks of file.chunks)
        for (const count of file.points) {
          if (count > 4000) {
            made.push(null);
            continue;
          }
          made.push(await planOf(attribute, { kind: "prefix", of: ["word"], chunks, points: count }, count + Number(attribute.optional)));
        }
      made.push(await planOf(attribute, { kind: "among", of: ["word"], values: ["", "a"] }, 3 + Number(attribute.optional)));
      plans.set(key, made);
    }
    [...points, among].forEach((place, at) => {
      const plan = plans.get(key)[at];
      if (plan === null) return;
      // The likelihood of the true place is .99, that of any other far less.
      assert.ok(hush.likelihood(plan, 0, place, { word: value }) > 0.5, `${JSON.stringify(value)} at ${at}`);
    });
  }
});

test("bad values are refused before anything is drawn", async () => {
  const { attribute } = file.good[0];
  const plan = await planOf(attribute, { kind: "prefix", of: ["word"], chunks: [5], points: 7 }, 7);
  for (const { why, json } of file.bad_values)
    assert.throws(() => randomiseFrom(new SystemCoins(), plan, { word: JSON.parse(json) }), RecordError, why);
});

test("bad texts of schemas are refused", async () => {
  for (const { why, attribute } of file.bad_attributes)
    await assert.rejects(planOf(attribute, { kind: "prefix", of: ["word"], chunks: [5], points: 7 }, 7), PlanError, why);
});

test("all texts of a schema are bounded together", async () => {
  assert.deepEqual(file.schemas.map(({ fits }) => fits), [true, false, true, false, false]);
  for (const { fits, texts } of file.schemas) {
    const all = texts.flatMap(({ attribute, times, rows }) =>
      Array(times).fill({ ...attribute, code: Array(rows).fill(attribute.code[0]) }),
    );
    const [first, ...more] = all.map((one, i) => ({ ...one, name: `t${i}` }));
    const made = planOf(first, { kind: "prefix", of: ["t0"], chunks: [5], points: 7 }, 7, more);
    if (fits) assert.equal((await made).schema.length, all.length);
    else await assert.rejects(made, { name: "PlanError", message: /at most 131072 digits together/ });
  }
});

test("bad views of texts are refused", async () => {
  const attribute = { ...file.bad_attributes[0].attribute, length: 4 };
  const [prefix, among] = file.good_views;
  await planOf(attribute, prefix, prefix.points);
  await planOf(attribute, among, among.values.length + 1);
  for (const { why, view } of file.bad_views)
    await assert.rejects(planOf(attribute, view, view.points ?? 3), PlanError, why);
});

test("a listed text is whole if its code has as many bits as the text, and no more", async () => {
  // Letters and the end take 3 bits each. A text of as many letters as count has no end.
  const letters = { ...file.bad_attributes[0].attribute, alphabet: "abcdefg", code: ["3".repeat(8)], length: 3 };
  const listing = (values, bits) => planOf({ ...letters, bits }, { kind: "among", of: ["word"], values }, values.length + 1);
  for (const [bits, value] of [[8, "g"], [9, "gg"], [9, "ggg"], [12, "ggg"]]) await listing(["", value], bits);
  for (const [bits, value] of [[8, "gg"], [8, "ggg"]])
    await assert.rejects(listing(["", value], bits), (error) => error instanceof PlanError && /must be whole/.test(error.message));
});

const plain = { ...file.bad_attributes[0].attribute, length: 4 }; // of a and b, in ten bits
const asked = { kind: "prefix", of: ["word"], chunks: [5], points: 7 };
const wide = Array.from({ length: 256 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join("");
const alphabet = (letters) => ({ ...plain, alphabet: letters, code: ["9".repeat([...letters].length + 1)], bits: 128 });
const refused = (attribute, view, size, rule) =>
  assert.rejects(planOf(attribute, view, size), (error) => {
    assert.ok(error instanceof PlanError, String(error));
    assert.match(error.message, rule);
    return true;
  });

test("the rules of texts end where they end in Python", async () => {
  for (const change of [{ length: 1 }, { length: 64 }, { bits: 8 }, { bits: 128 }, { case: "keep" }, { code: ["o12"] }, { code: ["122"] }])
    assert.ok(await planOf({ ...plain, ...change }, asked, 7), JSON.stringify(change));
  assert.ok(await planOf(alphabet(wide), asked, 7));
  for (const letters of [`${wide}豈`, "a", ""]) await refused(alphabet(letters), asked, 7, /^alphabet must be 2 to 256 printable characters$/);
  for (const other of [7, {}, true, ["a", "b"]]) await refused({ ...plain, alphabet: other }, asked, 7, /^alphabet must be/);
  for (const [change, rule] of [
    [{ length: 0 }, /^length must be an integer from 1 to 64$/],
    [{ bits: 7 }, /^bits must be an integer from 8 to 128$/],
    [{ code: "333" }, /^code must be an array$/],
    [{ code: [333] }, /^a row of the code must/],
    [{ code: ["33"] }, /^a row of the code must/],
    [{ code: ["33p"] }, /^a row of the code must/],
    [{ code: ["p33"] }, /^a row of the code must/],
    [{ code: ["033"] }, /^a row of the code must/],
    [{ code: ["222", "222"] }, /^code must have a row for each symbol$/],
    [{ code: ["112"] }, /^the words of the code must be longer$/],
  ])
    await refused({ ...plain, ...change }, asked, 7, rule);
});

test("a text has at most 4096 characters, however they are written, and no half of one where it is looked at", async () => {
  const plan = await planOf(plain, asked, 7);
  for (const word of ["a".repeat(4096), "😀".repeat(4096), "\ud7ff", "\ue000", `${"a".repeat(16)}\ud800`]) assert.ok(plan.encode({ word }));
  for (const word of ["a".repeat(4097), "😀".repeat(4097)])
    assert.throws(() => plan.encode({ word }), /^RecordError: attribute "word": must be a string of at most 4096 characters$/);
  for (const word of ["\ud800", "\udbff", "\udc00", "\udfff", `${"a".repeat(15)}\ud800`]) assert.throws(() => plan.encode({ word }), /half of a pair/);
  for (const word of [7, true, ["a"], {}]) assert.throws(() => plan.encode({ word }), /"word": must be a string$/);
  assert.throws(() => plan.encode({}), /is missing/);
});

test("the rules of prefixes end where they end in Python", async () => {
  const bits = { ...plain, bits: 128 };
  for (const view of [{ chunks: Array(32).fill(4) }, { chunks: [24] }, { chunks: [0] }, { chunks: [24, 24, 24, 24, 24, 8] }, { points: 2 }])
    assert.ok(await planOf(bits, { ...asked, ...view }, view.points ?? 7), JSON.stringify(view));
  await refused(bits, { ...asked, points: 2 ** 22 }, 7, /^the channel must fit/);
  for (const [view, rule] of [
    [{ points: 2 ** 22 + 1 }, /^points must be an integer from 2 to 4194304$/],
    [{ points: 1 }, /^points must be an integer from 2 to 4194304$/],
    [{ chunks: [25] }, /^a chunk must be an integer from 0 to 24$/],
    [{ chunks: [-1] }, /^a chunk must be an integer from 0 to 24$/],
    [{ chunks: [24, 24, 24, 24, 24, 9] }, /^a prefix must have at most the bits of the text$/],
    [{ chunks: [] }, /^chunks must be 1 to 32$/],
    [{ chunks: Array(33).fill(0) }, /^chunks must be 1 to 32$/],
  ])
    await refused(bits, { ...asked, ...view }, 7, rule);
});

test("listed texts are found, in whatever order and however many", async () => {
  const letters = [...wide];
  const some = Array.from({ length: 4096 }, (_, i) => letters[(i * 77) % 256] + letters[Math.floor(i / 256)]);
  const among = (values) => ({ kind: "among", of: ["word"], values });
  const plan = await planOf({ ...alphabet(wide), optional: true }, among(some.slice(0, 4095)), 4097);
  const seen = (word) => plan.inputsOf(0, plan.encode({ word }))[0];
  for (const place of [0, 1, 2, 255, 256, 1000, 4093, 4094]) assert.equal(seen(some[place]), place);
  assert.deepEqual([some[4095], letters[0], "", "another", null].map(seen), [4095, 4095, 4095, 4095, 4096]);
  await refused(alphabet(wide), among(some), 4097, /^values must be 1 to 4095$/);
  await refused(alphabet(wide), among([]), 2, /^values must be 1 to 4095$/);
  for (const name of ["(missing)", "(other)"]) {
    const named = { ...alphabet([...new Set("(missing)(other)")].join("")), length: 16 };
    await refused(named, among([name]), 2, /^a value must be/);
    assert.ok(await planOf(named, among([name.slice(1)]), 2));
  }
  const two = await planOf({ ...plain, code: ["222"], bits: 128 }, among(["", "a"]), 3); // the empty text has the first bit
  assert.deepEqual(["", "a", "b", "ab"].map((word) => two.inputsOf(0, two.encode({ word }))[0]), [0, 1, 2, 2]);
  for (const other of ["A", "a ", " a", "c", "ababa"]) await refused(plain, among([other]), 2, /^a listed text must be in its normal form$/);
  await refused(plain, among(["ab", "ab"]), 3, /^listed texts must differ$/);
  // Texts whose first bits are the same cannot be told apart.
  const short = { ...plain, code: ["888"], bits: 16 };
  await refused(short, among(["aa", "ab"]), 3, /^a listed text must be whole/);
  assert.ok(await planOf(short, among(["a", "b"]), 3));
});

test("a word of a code may have as many as 24 bits", async () => {
  const plan = await planOf({ ...plain, code: ["o12"], bits: 32 }, asked, 7); // b is 0, the end is 10, and a is 11 and 22 zeros
  const bits = (word) => plan.encode({ word })[0].toString(2).padStart(32, "0");
  assert.deepEqual(["", "b", "a", "ba"].map(bits), ["10", "010", `11${"0".repeat(22)}10`, `011${"0".repeat(22)}10`].map((text) => text.padEnd(32, "0")));
});

test("bytes of a text are coded by how many of its character are still to come", async () => {
  const code = ["9", "a", "b", "c"].map((digit) => digit.repeat(257)); // words of 9 to 12 bits, each the number of its byte
  const plan = await planOf({ ...plain, alphabet: null, case: "keep", code, bits: 128, length: 3 }, asked, 7);
  for (const word of ["a", "\x7f", "\x80", "\u07ff", "\u0800", "\u0fff", "\u2013", "\uffe5", "\ud7ff", "\uffffa", "\u{10000}", "😀", "\u{3f03f}", "\u{10ffff}", "a–b", "é\uffe5", "😀😀😀"]) {
    let bits = "";
    for (const character of [...word]) {
      const bytes = new TextEncoder().encode(character);
      bytes.forEach((byte, i) => (bits += byte.toString(2).padStart(9 + (i ? bytes.length - i : 0), "0")));
    }
    const found = plan.encode({ word })[0].toString(2).padStart(128, "0");
    const end = new TextEncoder().encode(word).length < 12 ? "100000000" : ""; // the longest text needs none
    assert.equal(found, (bits + end).padEnd(128, "0").slice(0, 128), JSON.stringify(word));
  }
});

test("all bytes of the longest text are coded", async () => {
  const row = (byte) => Array.from({ length: 257 }, (_, i) => (i === byte ? "1" : "9")).join("");
  const code = [0xf0, 0x80, 0x98, 0x9f].map(row); // so that a smile takes four bits
  const plan = await planOf({ ...plain, alphabet: null, case: "keep", code, bits: 128, length: 8 }, asked, 7);
  const found = ["é", "è", "a", "", "😀"].map((last) => plan.encode({ word: "😀".repeat(7) + last })[0]);
  assert.equal(new Set(found).size, 5);
});

test("spaces at the ends do not count, and nothing else is a space", async () => {
  const code = Array(4).fill("9".repeat(257));
  const plan = await planOf({ ...plain, alphabet: null, case: "keep", code, bits: 128 }, asked, 7);
  const seen = (word) => plan.encode({ word })[0];
  for (const space of [" ", "\t", "\n", "\r", " \r\n\t "]) {
    for (const word of [`${space}ab`, `ab${space}`, `${space}ab${space}`]) assert.equal(seen(word), seen("ab"), JSON.stringify(word));
    assert.equal(seen(space), seen(""));
    assert.notEqual(seen(`a${space}b`), seen("ab"));
  }
  assert.equal(seen(`${" ".repeat(15)}ab`), seen("a")); // sixteen characters are looked at, of which four count
  assert.equal(seen(`${" ".repeat(16)}a`), seen(""));
  assert.equal(seen(`${" ".repeat(13)}a\u0323\u0302bcd`), seen("\u1ead")); // three of them become one
  assert.equal(seen("abc d"), seen("abc"));
  for (const other of ["\b", "\v", "\f", "\x0e", "\x1f", "!", "\u00a0", "\u2003"]) {
    for (const word of [`${other}ab`, `ab${other}`]) assert.notEqual(seen(word), seen("ab"), JSON.stringify(word));
  }
});

test("four times as many characters are looked at as count, however they are written", async () => {
  const plan = await planOf(plain, asked, 7); // of a and b; four characters count
  const seen = (word) => plan.encode({ word })[0];
  for (const other of ["?", "😀"]) {
    for (const count of [1, 8, 12, 15]) assert.equal(seen(`${other.repeat(count)}a`), seen("a"));
    assert.equal(seen(`${other.repeat(16)}a`), seen(""));
    assert.equal(seen(`${other.repeat(12)}abab`), seen("abab"));
    assert.equal(seen(`${other.repeat(13)}abab`), seen("aba"));
  }
  assert.equal(seen("ababab"), seen("abab"));
  assert.equal(seen("AbAb"), seen("abab"));
});

test("only texts are seen by views of texts", async () => {
  const number = { kind: "categorical", name: "word", values: ["a", "b"], optional: false };
  for (const view of [asked, { kind: "among", of: ["word"], values: ["a"] }]) await refused(number, view, 7, /^this view must be of a text$/);
});

const unlike = ["", "a", "ab ab", "  ba\t", " ".repeat(40), "b".repeat(40), "😀".repeat(40), "e\u0301".repeat(20), "a\ud7ff\uffff", "İ".repeat(16), null];
const coded = [
  { ...plain, optional: true },
  { ...plain, optional: true, alphabet: null, case: "keep", code: Array(4).fill("9".repeat(257)), bits: 128 },
];

test("texts are read at one length, however long they are: engines take other ways for others", async () => {
  const point = String.prototype.codePointAt;
  for (const attribute of coded) {
    const plan = await planOf(attribute, asked, 8);
    const lengths = unlike.map((word) => {
      const found = [];
      String.prototype.codePointAt = function (at) {
        found.push(this.length);
        return point.call(this, at);
      };
      try {
        plan.encode({ word });
      } finally {
        String.prototype.codePointAt = point;
      }
      return found.join();
    });
    assert.deepEqual(new Set(lengths), new Set([lengths[0]]));
    assert.ok(lengths[0].length > 100);
  }
});

/** An array that refuses places which it does not have. */
function strict(kind) {
  const within = (array, key) => {
    if (typeof key === "string" && /^-?\d+$/.test(key)) assert.ok(key in array, `place ${key} of ${array.length}`);
  };
  return class extends kind {
    static from = kind.from.bind(kind);
    static get [Symbol.species]() {
      return kind;
    }
    constructor(length) {
      super(length);
      return new Proxy(this, {
        get(array, key) {
          within(array, key);
          return typeof array[key] === "function" ? array[key].bind(array) : array[key];
        },
        set(array, key, value) {
          within(array, key);
          array[key] = value;
          return true;
        },
      });
    }
  };
}

test("no step goes past the end of an array, where engines take another way", async () => {
  const kinds = { Uint8Array, Uint16Array, Uint32Array };
  for (const attribute of coded) {
    const plan = await planOf(attribute, asked, 8);
    const right = unlike.map((word) => plan.encode({ word })[0]);
    for (const [name, kind] of Object.entries(kinds)) globalThis[name] = strict(kind);
    try {
      assert.throws(() => new Uint8Array(4)[4], /place 4 of 4/); // the array is as strict as it says
      assert.throws(() => (new Uint8Array(4)[-1] = 1), /place -1 of 4/);
      assert.deepEqual(unlike.map((word) => plan.encode({ word })[0]), right);
    } finally {
      Object.assign(globalThis, kinds);
    }
  }
});
