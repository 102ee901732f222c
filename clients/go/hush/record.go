package hush

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A Record has a value for each attribute of a plan: a number, a text, a boolean, a list of texts, or nil. Dates and times
// of day are texts, such as 2020-12-31 and 07:30.
// ParseRecord reads one from JSON. A number is
// a json.Number, a float64 or an integer of Go; only integers are categories, 1.0 is none.
type Record map[string]any

// ParseRecord reads a record from the text of a JSON object. It refuses repeated names.
func ParseRecord(text []byte) (Record, error) {
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the record cannot be read: %w", err)
	}
	values, ok := value.(object)
	if !ok {
		return nil, errors.New("the record must be a JSON object")
	}
	return Record(values), nil
}

// Check says whether Randomise would take the record: nil, or which attribute breaks which rule. It draws nothing.
func (p *Plan) Check(record Record) error {
	_, err := p.encode(record)
	return err
}

// input is a checked value.
type input struct {
	u       float64 // a number, scaled to 0..1; 0 if it is missing
	index   int     // a category
	missing uint64  // 1 if a number or a text is missing
	marks   []byte  // choices: 1 for each value that is held, else 0; all are 2 if the list is missing
	code    code    // the bits of a text; 0 if it is missing
}

func (p *Plan) encode(record Record) ([]input, error) {
	inputs := make([]input, len(p.schema))
	known := 0
	for i, a := range p.schema {
		value, present := record[a.name]
		if present {
			known++
		}
		var err error
		if inputs[i], err = a.encode(value); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.name, err)
		}
	}
	if known != len(record) {
		return nil, p.unknown()
	}
	return inputs, nil
}

// unknown says which attributes there are. It does not quote the name: if names and values were swapped, it is a value.
func (p *Plan) unknown() error {
	const shown = 8
	names := ""
	for i, name := range p.Names() {
		if i == shown {
			names += ", ..."
			break
		}
		if i > 0 {
			names += ", "
		}
		names += strconv.Quote(name)
	}
	return errors.New("the record has an attribute that the plan does not have; there are: " + names)
}

func (a *attribute) encode(value any) (input, error) {
	switch {
	case value == nil && !a.optional:
		return input{}, errors.New("a value is needed, as it is not optional")
	case a.most > 0:
		return a.encodeChoices(value)
	case a.text != nil:
		return a.encodeText(value)
	case a.numeric():
		return a.encodeNumber(value)
	default:
		return a.encodeCategory(value)
	}
}

// encodeNumber takes the same steps for a missing number, date or time: its lower bound stands in.
func (a *attribute) encodeNumber(value any) (input, error) {
	gone := absent(value)
	if value == nil {
		value = a.standIn
	}
	var v float64
	ok := true
	if a.date || a.step > 0 {
		var err error
		if v, err = a.count(value); err != nil {
			return input{}, err
		}
	} else {
		v, ok = readAnyway(value, asFloat)
	}
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return input{}, errors.New("it must be a finite number, not text and not a boolean")
	}
	if a.whole && v != math.Floor(v) {
		return input{}, errors.New("it must be a whole number")
	}
	if a.clip {
		v = math.Min(math.Max(v, a.low), a.high)
	}
	if v < a.low || v > a.high {
		return input{}, fmt.Errorf("it must lie between %s and %s", a.written(a.low), a.written(a.high))
	}
	u := (v - a.low) / (a.high - a.low)
	return input{u: math.Abs(u), missing: gone}, nil // -0.0 - 0.0 is -0.0, and samplers compare bits
}

// encodeCategory compares the value with all categories, and does not stop at the right one. A missing value is compared
// too, as an empty text or 0.
func (a *attribute) encodeCategory(value any) (input, error) {
	index, found := 0, uint64(0)
	text, isText := value.(string)
	number, isNumber := readAnyway(value, exactInteger)
	if a.boolean {
		var truth bool
		if truth, isNumber = value.(bool); truth {
			number = 1
		}
	}
	if a.texts != nil && (isText || value == nil) && (a.other || len(text) <= longestText*4) {
		key := textKey(text) // a longer one is cut, and none of them: their length is in the key
		for i := range a.texts {
			equal := uint64(subtle.ConstantTimeCompare(key[:], a.texts[i][:]))
			index, found = choose(equal, i, index), found|equal
		}
	}
	if a.integers != nil && (isNumber || value == nil) {
		for i, category := range a.integers {
			equal := same(uint64(number), category)
			index, found = choose(equal, i, index), found|equal
		}
	}
	switch {
	case value == nil:
		return input{index: a.categories() - 1}, nil
	case a.other && isText:
		return input{index: choose(found, index, len(a.texts))}, nil
	case found == 0 && a.boolean:
		return input{}, errors.New("it must be true or false")
	case found == 0 && a.texts != nil:
		return input{}, errors.New("it must be one of the plan's categories, as text")
	case found == 0:
		return input{}, errors.New("it must be one of the plan's categories, as an integer (not 1.0)")
	}
	return input{index: index}, nil
}

// encodeChoices takes as many steps for a short list as for a long one, and compares each value with all.
func (a *attribute) encodeChoices(value any) (input, error) {
	held, count, ok := asTexts(value, a.most)
	if !ok {
		return input{}, fmt.Errorf("it must be a list of at most %d texts", a.most)
	}
	marks, repeated := make([]byte, len(a.texts)), uint64(0)
	for i, text := range held {
		here, found := less(uint64(i), uint64(count)), uint64(0)
		if len(text) > longestText*4 {
			text = "" // it is none of the values, and neither is this one, unless it was declared
			found, here = 2, 0
		}
		key := textKey(text)
		for j := range a.texts {
			equal := uint64(subtle.ConstantTimeCompare(key[:], a.texts[j][:])) & here
			repeated |= equal & uint64(marks[j])
			marks[j] |= byte(equal)
			found |= equal
		}
		if found == 2 || here == 1 && found == 0 {
			return input{}, errors.New("it must list some of the plan's values, as texts")
		}
	}
	if repeated == 1 {
		return input{}, errors.New("it must not list a value twice")
	}
	for j := range marks {
		marks[j] = byte(choose(absent(value), 2, uint64(marks[j])))
	}
	return input{marks: marks}, nil
}

func absent(value any) uint64 {
	if value == nil {
		return 1
	}
	return 0
}

// asTexts is a list of at most some texts, as JSON or Go has it, with empty texts behind, and how many they are. A missing
// list is empty.
func asTexts(value any, most int) ([]string, int, bool) {
	found := make([]string, most)
	texts, isTexts := value.([]string)
	items, isItems := value.([]any)
	good := (isTexts || isItems || value == nil) && len(texts) <= most && len(items) <= most
	for i := range found {
		if i < len(texts) {
			found[i] = texts[i]
		}
		if i < len(items) {
			text, isText := items[i].(string)
			found[i], good = text, good && isText
		}
	}
	return found, len(texts) + len(items), good
}

// readAnyway reads a number, and an example if it is none that JSON has: a number of Go, or a missing one, takes no less
// time than one that is still to be read.
func readAnyway[T any](value any, read func(value any) (T, bool)) (T, bool) {
	if _, written := value.(json.Number); !written {
		read(json.Number("0"))
	}
	return read(value)
}

// asFloat is the nearest float64 of a number.
func asFloat(value any) (float64, bool) {
	switch value := value.(type) {
	case float64:
		return value, true
	case float32:
		return float64(value), true
	case uint64:
		return float64(value), true
	case uint:
		return float64(value), true
	case json.Number:
		v, err := strconv.ParseFloat(string(value), 64)
		if errors.Is(err, strconv.ErrRange) && isInteger(string(value)) {
			v, err = math.Copysign(math.MaxFloat64, v), nil // the nearest float64 of an integer is finite
		}
		return v, err == nil && isJSONNumber(string(value))
	}
	number, ok := exactInteger(value)
	return float64(number), ok
}

// exactInteger is the value of an integer that fits into 64 bits. Categories are smaller than that.
func exactInteger(value any) (int64, bool) {
	switch value := value.(type) {
	case int:
		return int64(value), true
	case int8:
		return int64(value), true
	case int16:
		return int64(value), true
	case int32:
		return int64(value), true
	case int64:
		return value, true
	case uint8:
		return int64(value), true
	case uint16:
		return int64(value), true
	case uint32:
		return int64(value), true
	case uint:
		return int64(value), uint64(value) <= math.MaxInt64
	case uint64:
		return int64(value), value <= math.MaxInt64
	case json.Number:
		number, ok := asInteger(value)
		return number, ok && isJSONNumber(string(value))
	}
	return 0, false
}

// isJSONNumber refuses what strconv reads and JSON does not have, as "inf" and "0x1".
func isJSONNumber(text string) bool {
	return json.Valid([]byte(text)) && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && text[len(text)-1] >= '0'
}
