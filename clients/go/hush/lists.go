package hush

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	mostListed  = 1<<22 - 2
	longestList = 1 << 28
)

// A MissingList is the error of a plan with a long list that was not added: its text has this SHA-256, in hexadecimal.
type MissingList struct{ Name, SHA256 string }

func (m *MissingList) Error() string {
	return fmt.Sprintf("the list %s is not here: add it with AddList first", m.Name)
}

// lists are the long lists that were added, by their hash.
var lists sync.Map

// AddList makes a long list known, by its text: plans name such lists by their hash, and ParsePlan needs them. It returns
// the hash, in hexadecimal.
func AddList(text []byte) (string, error) {
	if len(text) > longestList || !utf8.Valid(text) || !bytes.HasSuffix(text, []byte("\n")) {
		return "", fmt.Errorf("list: it must be UTF-8 of at most %d bytes, every line with a line feed", longestList)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) > mostListed {
		return "", fmt.Errorf("list: it must have at most %d values", mostListed)
	}
	keys, known := make([][32]byte, len(lines)), make(map[string]bool, len(lines))
	for i, line := range lines {
		if !printable(line, 1, longestText) || line == missingName || line == otherName || known[line] {
			return "", fmt.Errorf("list: line %d must be another value than all others, of 1 to %d printable characters", i+1, longestText)
		}
		known[line] = true
		keys[i] = textKey(line)
	}
	hash := sha256.Sum256(text)
	lists.Store(hash, keys)
	return hex.EncodeToString(hash[:]), nil
}

// readList finds the list that a plan names.
func readList(value any) ([][32]byte, error) {
	f := open(value, "count", "name", "sha256")
	count, name := f.size("count", 1, mostListed), f.text("name")
	f.rule(listName(name), "the name of a list must be 1 to 64 letters, digits, dots, dashes and underscores")
	var hash [32]byte
	text := f.text("sha256")
	n, err := hex.Decode(hash[:], []byte(text[:least(len(text), 64)]))
	f.rule(err == nil && n == 32 && hex.EncodeToString(hash[:]) == text, "sha256 must be 64 hexadecimal digits")
	if f.err != nil {
		return nil, f.err
	}
	found, ok := lists.Load(hash)
	if !ok {
		return nil, &MissingList{name, text}
	}
	keys := found.([][32]byte)
	if len(keys) != count {
		return nil, errors.New("the list has another number of values than the plan says")
	}
	return keys, nil
}

func listName(name string) bool {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
		if !letter && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}
