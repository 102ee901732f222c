package hush

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

const (
	mostAttributes = 1024
	mostValues     = 4096
	longestName    = 128
	longestText    = 256
	missingName    = "(missing)" // reports speak of missing values by this name, so no category may have it
)

// attribute is a number (integers and texts are nil) or a category.
type attribute struct {
	name      string
	optional  bool
	low, high float64
	clip      bool
	integers  []uint64   // the categories, if they are integers: in two's complement
	texts     [][32]byte // the categories, if they are text: see textKey
}

func (a *attribute) numeric() bool { return a.integers == nil && a.texts == nil }

// categories is the number of categories; "missing" is one more.
func (a *attribute) categories() int {
	n := len(a.integers) + len(a.texts)
	if a.optional {
		n++
	}
	return n
}

// textKey stands for a text of at most longestText code points. It takes as long for a short text as for a long one, and
// all keys of an attribute can be compared with one in the same time.
func textKey(text string) [32]byte {
	var padded [2 + longestText*4]byte
	binary.BigEndian.PutUint16(padded[:], uint16(copy(padded[2:], text)))
	return sha256.Sum256(padded[:])
}

func readSchema(value any) ([]*attribute, error) {
	items, ok := value.([]any)
	if !ok || len(items) < 1 || len(items) > mostAttributes {
		return nil, fmt.Errorf("schema must be an array of 1 to %d attributes", mostAttributes)
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
	case "categorical":
		f = open(value, "kind", "name", "values", "optional")
		a.readValues(f)
	default:
		return nil, fmt.Errorf(`must be an object whose kind is "numeric" or "categorical"`)
	}
	a.name, a.optional = f.text("name"), f.boolean("optional")
	f.rule(printable(a.name, 1, longestName), "name must have 1 to %d printable characters", longestName)
	f.rule(a.numeric() || a.categories() >= 2, "values must be at least 2, or 1 if it is optional")
	return a, f.err
}

// bound is a float, written in its canonical form.
func (f *fields) bound(name string) float64 {
	return f.float(name, f.values[name])
}

func (a *attribute) readValues(f *fields) {
	values := f.array("values")
	f.rule(len(values) >= 1 && len(values) <= mostValues, "values must be 1 to %d", mostValues)
	const rule = "values must be distinct, and all text of at most 256 printable characters other than (missing), " +
		"or all integers below 2^53 in size"
	known := map[any]bool{}
	for _, value := range values {
		number, isNumber := asInteger(value)
		text, isText := value.(string)
		switch {
		case isText && a.integers == nil && printable(text, 0, longestText) && text != missingName && !known[text]:
			a.texts = append(a.texts, textKey(text))
			known[text] = true
		case isNumber && a.texts == nil && -1<<53 < number && number < 1<<53 && !known[number]:
			a.integers = append(a.integers, uint64(number))
			known[number] = true
		default:
			f.refuse(rule)
			return
		}
	}
}
