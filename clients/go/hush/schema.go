package hush

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

const (
	mostAttributes = 1024
	mostValues     = 4096
	mostChoices    = 1024
	mostCodes      = 1 << 17 // of the codes of all texts
	longestName    = 128
	longestText    = 256
	otherName      = "(other)"   // the category of all texts that are not listed
	missingName    = "(missing)" // reports speak of missing values by this name, so no category may have it
)

// attribute is a number (integers and texts are nil) or a category.
type attribute struct {
	name      string
	optional  bool
	low, high float64
	clip      bool
	whole     bool       // its values are whole numbers
	date      bool       // its values are dates, which count as days
	step      int        // the seconds of a step, if its values are times of day; else 0
	first     int        // the first step from which on times of day are counted
	other     bool       // all other texts are one more category
	boolean   bool       // its values are false and true, which are the integers 0 and 1
	integers  []uint64   // the categories, if they are integers: in two's complement
	texts     [][32]byte // the categories, if they are text: see textKey
	most      int        // how many of the texts a person holds at most, if they are choices; else 0
	standIn   any        // what is encoded in place of a missing number: its lower bound, as a record has it
	text      *wording   // how it becomes bits, if it is a text that no list has
	points    int        // the categories, if a view made them and they have no names
}

func (a *attribute) numeric() bool {
	return a.integers == nil && a.texts == nil && a.text == nil && a.points == 0
}

// categories is the number of categories; "missing" is one more. Choices and texts are no category.
func (a *attribute) categories() int {
	if a.most > 0 || a.text != nil {
		return 0
	}
	n := len(a.integers) + len(a.texts) + a.points
	for _, more := range []bool{a.optional, a.other} {
		if more {
			n++
		}
	}
	return n
}

// textKey stands for a text of at most longestText code points. It takes as long for a short text as for a long one, and
// all keys of an attribute can be compared with one in the same time.
func textKey(text string) [32]byte {
	var padded [2 + longestText*4]byte
	length := len(text)
	if length > longestText*4 {
		length = longestText*4 + 1 // no declared text is that long
	}
	binary.BigEndian.PutUint16(padded[:], uint16(length))
	copy(padded[2:], text)
	return sha256.Sum256(padded[:])
}

func readSchema(value any) ([]*attribute, error) {
	items, ok := value.([]any)
	if !ok || len(items) < 1 || len(items) > mostAttributes {
		return nil, fmt.Errorf("schema must be an array of 1 to %d attributes", mostAttributes)
	}
	if err := checkCodes(items); err != nil {
		return nil, err
	}
	var schema []*attribute
	names := map[string]bool{}
	for i, item := range items {
		a, err := readAttribute(item)
		if err != nil {
			return nil, fmt.Errorf("attribute %d: %w", i, err)
		}
		if names[a.name] {
			return nil, fmt.Errorf("attribute %d: its name must not be that of another", i)
		}
		names[a.name] = true
		schema = append(schema, a)
	}
	return schema, nil
}

// checkCodes refuses texts whose codes have too many words together: a server would decide how much memory and time they take.
func checkCodes(items []any) error {
	digits := 0
	for _, item := range items {
		values, _ := item.(object)
		rows, _ := values["code"].([]any)
		for _, row := range rows {
			text, _ := row.(string)
			digits += len(text)
		}
	}
	if digits > mostCodes {
		return fmt.Errorf("schema: the codes of all texts must have at most %d digits together", mostCodes)
	}
	return nil
}

func readAttribute(value any) (*attribute, error) {
	kind, _ := value.(object)
	a := &attribute{}
	var f *fields
	switch kind["kind"] {
	case "numeric":
		f = open(value, "kind", "name", "low", "high", "out_of_range", "optional", "scale", "unit")
		a.low, a.high = f.bound("low"), f.bound("high")
		rule := f.text("out_of_range")
		f.rule(rule == "error" || rule == "clip", `out_of_range must be "error" or "clip"`)
		a.clip = rule == "clip"
		width := a.high - a.low
		f.rule(width >= 1e-300 && !math.IsInf(width, 0), "high - low must be finite and at least 1e-300")
		scale := f.text("scale")
		f.rule(scale == "linear" || scale == "log", `scale must be "linear" or "log"`)
		if f.values["unit"] != nil {
			unit := f.bound("unit")
			f.rule(scale == "log" && 0 < unit && unit < width, `unit must be null, or for scale "log" above 0 and below high - low`)
		}
	case "integer":
		f = open(value, "kind", "name", "low", "high", "out_of_range", "optional")
		a.low, a.high, a.whole = f.bound("low"), f.bound("high"), true
		f.rule(isWhole(a.low) && isWhole(a.high) && a.low < a.high, "low must be below high, both whole numbers below 2^53 in size")
		rule := f.text("out_of_range")
		f.rule(rule == "error" || rule == "clip", `out_of_range must be "error" or "clip"`)
		a.clip = rule == "clip"
	case "date", "time":
		names := []string{"kind", "name", "low", "high", "out_of_range", "optional"}
		if kind["kind"] == "time" {
			names = append(names, "step")
		}
		if f = open(value, names...); kind["kind"] == "date" {
			a.readDates(f)
		} else {
			a.readTimes(f)
		}
		rule := f.text("out_of_range")
		f.rule(rule == "error" || rule == "clip", `out_of_range must be "error" or "clip"`)
		a.clip = rule == "clip"
	case "categorical":
		names := []string{"kind", "name", "values", "optional"}
		if kind["other"] == true {
			names = append(names, "other")
			a.other = true
		}
		f = open(value, names...)
		if named, ok := kind["values"].(object); ok {
			texts, err := readList(named)
			if err != nil {
				return nil, err
			}
			a.texts = texts
		} else {
			a.readValues(f)
		}
	case "boolean":
		f = open(value, "kind", "name", "optional")
		a.boolean, a.integers = true, []uint64{0, 1}
	case "choices":
		f = open(value, "kind", "name", "values", "most", "optional")
		a.readValues(f)
		f.rule(a.integers == nil && len(a.texts) >= 2 && len(a.texts) <= mostChoices, "values must be 2 to %d texts", mostChoices)
		a.most = f.size("most", 1, len(a.texts))
	case "text":
		f = open(value, "kind", "name", "length", "alphabet", "case", "code", "bits", "optional")
		a.text = readWording(f)
	default:
		return nil, fmt.Errorf(`must be an object whose kind is "numeric", "integer", "date", "time", "categorical", "boolean", "choices" or "text"`)
	}
	if a.numeric() {
		switch a.standIn = json.Number(formatFloat(a.low)); {
		case a.date || a.step > 0:
			a.standIn = a.written(a.low)
		case a.whole:
			a.standIn = json.Number(strconv.FormatInt(int64(a.low), 10))
		}
	}
	a.name, a.optional = f.text("name"), f.boolean("optional")
	f.rule(printable(a.name, 1, longestName), "name must have 1 to %d printable characters", longestName)
	f.rule(a.numeric() || a.most > 0 || a.text != nil || a.categories() >= 2, "values must be at least 2, or 1 if it is optional")
	return a, f.err
}

// isWhole says whether a float is a whole number below 2^53 in size.
func isWhole(v float64) bool { return v == math.Floor(v) && math.Abs(v) < 1<<53 }

// bound is a float, written in its canonical form.
func (f *fields) bound(name string) float64 {
	return f.float(name, f.values[name])
}

func (a *attribute) readValues(f *fields) {
	values := f.array("values")
	f.rule(len(values) >= 1 && len(values) <= mostValues && !(a.other && len(values) == mostValues), "values must be 1 to %d", mostValues)
	const rule = "values must be distinct, and all text of at most 256 printable characters other than (missing), " +
		"or all integers below 2^53 in size"
	known := map[any]bool{}
	for _, value := range values {
		number, isNumber := asInteger(value)
		text, isText := value.(string)
		switch {
		case isText && a.integers == nil && printable(text, 0, longestText) && text != missingName && !(a.other && text == otherName) && !known[text]:
			a.texts = append(a.texts, textKey(text))
			known[text] = true
		case isNumber && a.texts == nil && !a.other && -1<<53 < number && number < 1<<53 && !known[number]:
			a.integers = append(a.integers, uint64(number))
			known[number] = true
		default:
			f.refuse(rule)
			return
		}
	}
}
