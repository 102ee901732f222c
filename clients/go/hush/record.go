package hush

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A Record has a value for each attribute of a plan: a number, a text, or nil. ParseRecord reads one from JSON. A number is
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
	missing uint64  // 1 if a number is missing
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
		return nil, p.unknown(record)
	}
	return inputs, nil
}

// unknown names an attribute of the record that the plan does not have.
func (p *Plan) unknown(record Record) error {
	names := map[string]bool{}
	for _, name := range p.Names() {
		names[name] = true
	}
	least := ""
	for name := range record {
		if !names[name] && (least == "" || name < least) {
			least = name
		}
	}
	if !printable(least, 1, longestName) {
		return errors.New("the record has a name that the plan does not have, and that no plan could have")
	}
	return fmt.Errorf("attribute %q: the plan does not have it", least)
}

func (a *attribute) encode(value any) (input, error) {
	switch {
	case value == nil && !a.optional:
		return input{}, errors.New("a value is needed, as it is not optional")
	case a.numeric() && value == nil:
		return input{missing: 1}, nil
	case a.numeric():
		return a.encodeNumber(value)
	default:
		return a.encodeCategory(value)
	}
}

func (a *attribute) encodeNumber(value any) (input, error) {
	v, ok := asFloat(value)
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return input{}, errors.New("it must be a finite number, not text and not a boolean")
	}
	if a.clip {
		v = math.Min(math.Max(v, a.low), a.high)
	}
	if v < a.low || v > a.high {
		return input{}, fmt.Errorf("it must lie between %s and %s", formatFloat(a.low), formatFloat(a.high))
	}
	u := (v - a.low) / (a.high - a.low)
	return input{u: math.Abs(u)}, nil // -0.0 - 0.0 is -0.0, and samplers compare bits
}

// encodeCategory compares the value with all categories, and does not stop at the right one. A missing value is compared
// too, as an empty text or 0.
func (a *attribute) encodeCategory(value any) (input, error) {
	index, found := 0, uint64(0)
	text, isText := value.(string)
	number, isNumber := exactInteger(value)
	if a.texts != nil && (isText || value == nil) && len(text) <= longestText*4 {
		key := textKey(text)
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
	case found == 0 && a.texts != nil:
		return input{}, errors.New("it must be one of the plan's categories, as text")
	case found == 0:
		return input{}, errors.New("it must be one of the plan's categories, as an integer (not 1.0)")
	}
	return input{index: index}, nil
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
