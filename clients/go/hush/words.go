package hush

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	longestPart = 64 // characters of a text that count
	mostBits    = 128
	longestWord = 24 // bits of one symbol
	mostText    = 4096
	lookedAt    = 4 // characters that are looked at, for each that counts
	spaces      = " \t\n\r"
	mostChunks  = 32
	widestChunk = 24
	mostAmong   = 4095
	wordDigits  = "0123456789abcdefghijklmno"
)

// wording says how a text becomes bits: its normal form, its symbols, and a prefix code for these.
type wording struct {
	length, bits int
	alphabet     []rune // nil: symbols are bytes
	lower        bool
	words        [][]word // by row and symbol
	start        int      // the row of the first symbol
}

type word struct {
	value  uint64
	length int
	next   int // the row of the next symbol
}

// code has the bits of a text, the first one highest among `bits`, as a number of 128 bits.
type code struct{ high, low uint64 }

// after is the number without its last bits.
func (c code) after(drop int) uint64 {
	if drop >= 64 {
		return c.high >> (drop - 64)
	}
	return c.low>>drop | c.high<<(64-drop) // a shift by 64 gives 0
}

func readWording(f *fields) *wording {
	w := &wording{length: f.size("length", 1, longestPart), bits: f.size("bits", 8, mostBits)}
	rule := f.text("case")
	f.rule(rule == "lower" || rule == "keep", `case must be "lower" or "keep"`)
	w.lower = rule == "lower"
	symbols, most := 257, 4
	if f.values["alphabet"] != nil {
		w.readAlphabet(f)
		symbols = len(w.alphabet) + 1
		most = symbols
	}
	rows := f.array("code")
	f.rule(len(rows) == most || w.alphabet != nil && len(rows) == 1, "code must have a row, one for each symbol, or four for Unicode")
	for i := 0; i < len(rows) && f.err == nil; i++ {
		w.readRow(f, rows[i], i, len(rows), symbols)
	}
	if w.alphabet != nil {
		w.start = len(rows) - 1
	}
	return w
}

func (w *wording) readAlphabet(f *fields) {
	text := f.text("alphabet")
	f.rule(printable(text, 2, 256), "alphabet must be null or have 2 to 256 printable characters")
	if f.err != nil {
		return
	}
	known := map[rune]bool{}
	for _, r := range text {
		one := []rune{r}
		if w.lower {
			one = lowered(one)
		}
		one = composed(one)
		f.rule(len(one) == 1 && one[0] == r && !known[r], "the characters of the alphabet must differ, and be their own normal forms")
		known[r] = true
		w.alphabet = append(w.alphabet, r)
	}
}

// readRow makes the canonical prefix code of the lengths of a row.
func (w *wording) readRow(f *fields, value any, row, rows, symbols int) {
	text, _ := value.(string)
	f.rule(len(text) == symbols, "a row of the code must be text, with a digit for each symbol and one for the end")
	lengths, sum := make([]int, len(text)), 0
	for i := range lengths {
		lengths[i] = strings.IndexByte(wordDigits, text[i])
		f.rule(lengths[i] >= 1, "the digits of a code must be 1 to 9 and a to o")
		if f.err != nil {
			return
		}
		sum += 1 << (longestWord - lengths[i])
	}
	f.rule(sum <= 1<<longestWord, "the words of a row of the code must not be too short")
	found, next := make([]word, len(text)), uint64(0)
	for length := 1; length <= longestWord; length++ {
		next <<= 1
		for symbol := range lengths {
			if lengths[symbol] == length {
				found[symbol] = word{next, length, w.row(row, rows, symbol)}
				next++
			}
		}
	}
	w.words = append(w.words, found)
}

// row is that of the symbol behind this one.
func (w *wording) row(row, rows, symbol int) int {
	switch {
	case w.alphabet != nil && rows > 1:
		return symbol
	case w.alphabet != nil || symbol == 256 || symbol < 0x80 || symbol < 0xc0 && row == 0:
		return 0
	case symbol < 0xc0:
		return row - 1
	case symbol < 0xe0:
		return 1
	case symbol < 0xf0:
		return 2
	}
	return 3
}

// normal is the part of a text that counts, in its normal form. The first characters must be valid.
func (w *wording) normal(text string) []rune {
	seen := firstRunes([]rune(text), lookedAt*w.length)
	if w.lower {
		seen = lowered(seen)
	}
	seen = firstRunes(composed(seen), lookedAt*w.length)
	if w.alphabet != nil {
		kept := make([]rune, 0, len(seen))
		for _, r := range seen {
			if place, inside := w.place(r); inside == 1 {
				kept = append(kept, w.alphabet[place])
			}
		}
		seen = kept
	}
	counts := firstRunes([]rune(strings.Trim(string(seen), spaces)), w.length)
	return []rune(strings.TrimRight(string(counts), spaces))
}

func firstRunes(text []rune, count int) []rune { return text[:least(count, len(text))] }

// place is that of a character in the alphabet. It is compared with all.
func (w *wording) place(r rune) (int, uint64) {
	place, inside := 0, uint64(0)
	for i, letter := range w.alphabet {
		equal := same(uint64(r), uint64(letter))
		place, inside = choose(equal, i, place), inside|equal
	}
	return place, inside
}

// code is that of a text in its normal form, and how many bits its words have. As many symbols are looked up for every text,
// and each takes as many steps; what comes behind the end is not kept.
func (w *wording) code(text []rune) (code, int) {
	var symbols []int
	slots, end := w.length, len(w.words[0])-1
	if w.alphabet != nil {
		for _, r := range text {
			place, _ := w.place(r)
			symbols = append(symbols, place)
		}
	} else {
		slots *= 4
		for _, b := range []byte(string(text)) {
			symbols = append(symbols, int(b))
		}
	}
	for len(symbols) < slots {
		symbols = append(symbols, end)
	}
	bits, at, row, going := make([]byte, slots*longestWord+1), 0, w.start, 1
	for _, symbol := range symbols {
		found := w.words[row][symbol]
		for i := 0; i < longestWord; i++ {
			live := going & int(less(uint64(i), uint64(found.length)))
			bit := found.value >> ((found.length - 1 - i) & 63) & 1
			bits[at] |= byte(bit) & byte(live) // behind the word the place stays empty
			at += live
		}
		row, going = found.next, going&int(1-same(uint64(symbol), uint64(end)))
	}
	var c code
	for _, bit := range append(bits, make([]byte, mostBits)...)[:w.bits] {
		c.high, c.low = c.high<<1|c.low>>63, c.low<<1|uint64(bit)
	}
	return c, at
}

// encodeText makes an input of a text. A missing one takes the steps of an empty one.
func (a *attribute) encodeText(value any) (input, error) {
	text, ok := value.(string)
	if !ok && value != nil {
		return input{}, errors.New("it must be text")
	}
	if len(text) > mostText*4 || utf8.RuneCountInString(text) > mostText {
		return input{}, fmt.Errorf("it must be text of at most %d characters", mostText)
	}
	seen := 0
	for i := 0; i < len(text) && seen < lookedAt*a.text.length; seen++ {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return input{}, errors.New("it must be valid UTF-8")
		}
		i += size
	}
	c, _ := a.text.code(a.text.normal(text))
	gone := absent(value)
	return input{code: code{choose(gone, 0, c.high), choose(gone, 0, c.low)}, missing: gone}, nil
}

// texts finds the attribute of a view of texts.
func (f *fields) texts(schema []*attribute) (*view, int, *attribute) {
	v, places := f.view(schema, 1)
	a := schema[places[0]]
	f.rule(a.text != nil, "attribute %q: this view is of a text", a.name)
	return v, places[0], a
}

type step struct {
	drop int // bits behind the chunk
	mask uint64
}

// prefix is the first bits of a text, chunk by chunk, hashed to a point.
func (f *fields) prefix(schema []*attribute) *view {
	v, place, a := f.texts(schema)
	points := f.size("points", 2, mostPoints)
	chunks := f.array("chunks")
	f.rule(1 <= len(chunks) && len(chunks) <= mostChunks, "attribute %q: a prefix must have 1 to %d chunks", a.name, mostChunks)
	if f.err != nil {
		return nil
	}
	var steps []step
	left := a.text.bits
	for _, value := range chunks {
		chunk, ok := asInteger(value)
		f.rule(ok && 0 <= chunk && chunk <= widestChunk, "attribute %q: a chunk must have 0 to %d bits", a.name, widestChunk)
		if f.err == nil {
			left -= int(chunk)
			steps = append(steps, step{left, 1<<chunk - 1})
		}
		f.rule(left >= 0, "attribute %q: a prefix must have at most the %d bits of the text", a.name, a.text.bits)
	}
	v.seen = &attribute{name: a.name, optional: a.optional, points: points}
	v.look = func(inputs []input) input {
		x, state := inputs[place], uint64(0)
		for level, s := range steps {
			state = mixed(state, x.code.after(s.drop)&s.mask, uint64(level))
		}
		return input{index: choose(x.missing, points, int(state%uint64(points)))}
	}
	return v
}

// mixed is the state of a prefix that is one chunk longer.
func mixed(state, chunk, level uint64) uint64 {
	x := state + (chunk+1)*0x9e3779b97f4a7c15 + level*0xd6e8feb86659fd93
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// among is which of some texts it is, or none of them.
func (f *fields) among(schema []*attribute) *view {
	v, place, a := f.texts(schema)
	values := f.array("values")
	f.rule(1 <= len(values) && len(values) <= mostAmong, "attribute %q: the listed texts must be 1 to %d", a.name, mostAmong)
	var codes []code
	known := map[code]bool{}
	for i := 0; i < len(values) && f.err == nil; i++ {
		text, ok := values[i].(string)
		ok = ok && printable(text, 0, longestText) && text != missingName && text != otherName
		f.rule(ok, "attribute %q: a listed text must have at most %d printable characters", a.name, longestText)
		if f.err != nil {
			break
		}
		found, bits := a.text.code(a.text.normal(text))
		f.rule(string(a.text.normal(text)) == text && bits <= a.text.bits, "attribute %q: a listed text must be whole, and in its normal form", a.name)
		f.rule(!known[found], "attribute %q: the codes of listed texts must differ", a.name)
		known[found] = true
		codes = append(codes, found)
	}
	v.seen = &attribute{name: a.name, optional: a.optional, points: len(values) + 1}
	v.look = func(inputs []input) input {
		x, index := inputs[place], len(codes)
		for i, c := range codes { // compares with all
			index = choose(same(x.code.high, c.high)&same(x.code.low, c.low), i, index)
		}
		return input{index: choose(x.missing, len(codes)+1, index)}
	}
	return v
}
