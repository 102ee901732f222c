package hush

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON values of this format are never nested deeper.
const deepest = 16

// object is a JSON object.
type object = map[string]any

// parse reads JSON as strictly as the specification asks: UTF-8, no repeated fields, nothing left over, no half of a
// surrogate pair. Numbers stay text (json.Number), so that 1 and 1.0 can be told apart.
func parse(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	if !json.Valid(text) {
		return nil, errors.New("it is not JSON")
	}
	if halfPair(text) {
		return nil, errors.New("it has half of a surrogate pair")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := parseValue(decoder, deepest)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is something behind it")
	}
	return value, nil
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, errors.New("it is not JSON")
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth == 0 {
		return nil, errors.New("it is nested too deeply")
	}
	if delim == '[' {
		array := []any{}
		for decoder.More() {
			value, err := parseValue(decoder, depth-1)
			if err != nil {
				return nil, err
			}
			array = append(array, value)
		}
		_, err = decoder.Token()
		return array, err
	}
	fields := object{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, errors.New("it is not JSON")
		}
		name := token.(string)
		if _, repeated := fields[name]; repeated {
			return nil, errors.New("it has a repeated field")
		}
		if fields[name], err = parseValue(decoder, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = decoder.Token()
	return fields, err
}

// halfPair finds \u escapes of surrogates that are not a pair. The standard library would replace them.
func halfPair(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // valid JSON: there is a character behind a backslash, and four digits behind \u
		if text[i] != 'u' {
			continue
		}
		first := hexadecimal(text[i+1 : i+5])
		i += 4
		if first < 0xd800 || first > 0xdfff {
			continue
		}
		if first > 0xdbff || i+6 >= len(text) || text[i+1] != '\\' || text[i+2] != 'u' {
			return true
		}
		if second := hexadecimal(text[i+3 : i+7]); second < 0xdc00 || second > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}

func hexadecimal(digits []byte) uint64 {
	value, _ := strconv.ParseUint(string(digits), 16, 32)
	return value
}

// canonical is the canonical form of a value that parse gave.
func canonical(value any) []byte {
	var out bytes.Buffer
	writeCanonical(&out, value)
	return out.Bytes()
}

func writeCanonical(out *bytes.Buffer, value any) {
	switch value := value.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		out.WriteString(strconv.FormatBool(value))
	case string:
		writeText(out, value)
	case json.Number:
		out.WriteString(canonicalNumber(string(value)))
	case []any:
		out.WriteByte('[')
		for i, item := range value {
			if i > 0 {
				out.WriteByte(',')
			}
			writeCanonical(out, item)
		}
		out.WriteByte(']')
	case object:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		sort.Strings(names) // the order of bytes of UTF-8 is that of code points
		out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			writeText(out, name)
			out.WriteByte(':')
			writeCanonical(out, value[name])
		}
		out.WriteByte('}')
	}
}

// writeText writes a string. Printable text needs two escapes; control characters have others, for completeness.
func writeText(out *bytes.Buffer, text string) {
	out.WriteByte('"')
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"' || b == '\\':
			out.WriteByte('\\')
			out.WriteByte(b)
		case b < 0x20:
			fmt.Fprintf(out, `\u%04x`, b)
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
}

func isInteger(number string) bool { return !strings.ContainsAny(number, ".eE") }

func canonicalNumber(number string) string {
	if isInteger(number) {
		value, _ := new(big.Int).SetString(number, 10)
		return value.String()
	}
	value, _ := strconv.ParseFloat(number, 64)
	return formatFloat(value)
}

// formatFloat writes a finite float as Python's repr does: the shortest digits that read back, with an exponent if it is
// below -4 or above 15.
func formatFloat(value float64) string {
	scientific := strconv.FormatFloat(value, 'e', -1, 64)
	exponent, _ := strconv.Atoi(scientific[strings.IndexByte(scientific, 'e')+1:])
	if exponent < -4 || exponent > 15 {
		return scientific
	}
	plain := strconv.FormatFloat(value, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += ".0"
	}
	return plain
}
