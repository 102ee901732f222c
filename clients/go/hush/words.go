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
	words        [][]word         // by row and symbol
	start        int              // the row of the first symbol
	place        func(r rune) int // that of a character in the alphabet, or -1
	normaliser   *normaliser
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
	w := &wording{length: f.size("length", 1, longestPart), bits: f.size("bits", 8, mostBits), normaliser: newNormaliser()}
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
	w.place = placesOf(w.alphabet)
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
		one, count := w.normaliser.formC([]rune{r}, 1, w.lower)
		f.rule(count == 1 && one[0] == r && !known[r], "the characters of the alphabet must differ, and be their own normal forms")
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

// placesOf finds characters of an alphabet by the bytes of their numbers: no step depends on which one it is.
func placesOf(letters []rune) func(r rune) int {
	var pages [codePoints / page]uint16
	places := make([][page]int16, 1, 2)
	for place, r := range letters {
		if pages[r/page] == 0 {
			pages[r/page], places = uint16(len(places)), append(places, [page]int16{})
		}
		places[pages[r/page]][r%page] = int16(place + 1)
	}
	return func(r rune) int { return int(places[pages[r/page]][r%page]) - 1 }
}

// normal is the part of a text that counts, in its normal form with zeros behind, and how many characters that is. Whatever
// the text, it takes the same steps: characters that are not there are lowered, composed and looked up too.
func (w *wording) normal(text []rune, held int) ([]rune, int) {
	seen := len(text)
	formed, all := w.normaliser.formC(text, held, w.lower)
	kept, count := make([]rune, seen+1), 0
	for i, r := range formed[:seen] {
		in := less(uint64(i), uint64(all))
		if w.alphabet != nil {
			in &= 1 - uint64(w.place(r))>>63
		}
		kept[count] = r
		count += int(in)
	}
	first, leading, last := 0, uint64(1), 0
	for i, r := range kept[:seen] {
		leading &= isSpace(r) & less(uint64(i), uint64(count))
		first += int(leading)
	}
	found := make([]rune, w.length)
	for i := range found {
		r, here := kept[least(first+i, seen)], less(uint64(first+i), uint64(count))
		found[i] = r
		last = choose(here&(1-isSpace(r)), i+1, last)
	}
	for i := range found {
		found[i] &= -rune(less(uint64(i), uint64(last)))
	}
	return found, last
}

func isSpace(r rune) uint64 {
	x := uint64(r)
	return same(x, ' ') | same(x, '\t') | same(x, '\n') | same(x, '\r')
}

// runes are the characters of a text that are looked at, with zeros behind, how many they are, and whether they are valid
// UTF-8. It takes the same steps for all texts.
func (w *wording) runes(text string) (found []rune, count int, valid bool) {
	found = make([]rune, lookedAt*w.length)
	raw := make([]byte, utf8.UTFMax*(len(found)+1))
	given := copy(raw[:utf8.UTFMax*len(found)], text)
	at, bad := 0, uint64(0)
	for i := range found {
		count += int(less(uint64(at), uint64(given)))
		lead := uint64(raw[at])
		// How many bytes more it has is how many of these bounds its first one reaches.
		more := int(1-less(lead, 0xc0)) + int(1-less(lead, 0xe0)) + int(1-less(lead, 0xf0))
		r := lead & [utf8.UTFMax]uint64{0x7f, 0x1f, 0x0f, 0x07}[more]
		bad |= same(lead&0xc0, 0x80) | less(0xf7, lead)
		for j := 1; j < utf8.UTFMax; j++ {
			used, next := 1-less(uint64(more), uint64(j)), uint64(raw[at+j])
			bad |= used & (1 - same(next&0xc0, 0x80))
			r = choose(used, r<<6|next&0x3f, r)
		}
		bad |= less(r, [utf8.UTFMax]uint64{0, 0x80, 0x800, 0x10000}[more]) | less(codePoints-1, r) | same(r>>11, 0xd800>>11)
		found[i] = rune(r)
		at += 1 + more
	}
	return found, count, bad == 0
}

// symbols are those of a text in its normal form, as many as it can have, with ends behind.
func (w *wording) symbols(text []rune, count int) []int {
	end := len(w.words[0]) - 1
	if w.alphabet != nil {
		found := make([]int, w.length)
		for i, r := range text {
			place := w.place(r) // also behind the end
			found[i] = choose(less(uint64(i), uint64(count)), place, end)
		}
		return found
	}
	found, at := make([]int, utf8.UTFMax*(w.length+1)), 0
	for i, r := range text {
		here, point := less(uint64(i), uint64(count)), uint64(r)
		more := int(less(0x7f, point) + less(0x7ff, point) + less(0xffff, point))
		for j := 0; j < utf8.UTFMax; j++ {
			used := here & (1 - less(uint64(more), uint64(j)))
			rest := point >> (6 * ((more - j) & 3)) // of a byte that is not used it is not kept
			first := [utf8.UTFMax]uint64{0, 0xc0, 0xe0, 0xf0}[more] | rest
			symbol := choose(same(uint64(j), 0), first, 0x80|rest&0x3f)
			found[at] = choose(used, int(symbol), end)
			at += int(used)
		}
	}
	for i := range found {
		found[i] = choose(less(uint64(i), uint64(at)), found[i], end)
	}
	return found[:utf8.UTFMax*w.length]
}

// code is that of a text in its normal form, and how many bits its words have. As many symbols are looked up for every text,
// and each takes as many steps; what comes behind the end is not kept.
func (w *wording) code(text []rune, count int) (code, int) {
	symbols, end := w.symbols(text, count), len(w.words[0])-1
	bits, at, row, going := make([]byte, len(symbols)*longestWord+1), 0, w.start, 1
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
	// The characters of a text that may be too long are counted: others have fewer bytes.
	if len(text) > mostText && (len(text) > mostText*utf8.UTFMax || utf8.RuneCountInString(text) > mostText) {
		return input{}, fmt.Errorf("it must be text of at most %d characters", mostText)
	}
	seen, held, valid := a.text.runes(text)
	if !valid {
		return input{}, errors.New("it must be valid UTF-8")
	}
	c, _ := a.text.code(a.text.normal(seen, held))
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
		seen, held, _ := a.text.runes(text)
		normal, count := a.text.normal(seen, held)
		found, bits := a.text.code(normal, count)
		f.rule(string(normal[:count]) == text && bits <= a.text.bits, "attribute %q: a listed text must be whole, and in its normal form", a.name)
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
