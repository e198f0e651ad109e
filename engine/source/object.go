package source

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// maxObject is the maximum size of an object, in bytes. Larger objects are not configuration.
const maxObject = 32 << 20

// errMissing is the error of an object that the repository lacks.
var errMissing = errors.New("it is not in this clone")

// object is a commit, tree or blob as Git stores it.
type object struct {
	id, kind string
	size     int64
	data     []byte // nil for more than maxObject
}

// commit is the part of a commit that is used.
type commit struct {
	id, tree string
	parents  []string
}

// commit returns the commit of a name. In a shallow clone, its parents may be missing; they are listed
// anyway.
func (s *Source) commit(name string) (commit, error) {
	o, err := s.program.object(name + "^{commit}")
	if err != nil {
		return commit{}, err
	}
	c := commit{id: o.id}
	for line := range strings.Lines(string(o.data)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		default:
			if c.tree == "" {
				return c, fmt.Errorf("%.12s is a %s, not a commit", o.id, o.kind)
			}
			return c, nil
		}
	}
	return c, fmt.Errorf("commit %.12s ends in its header", o.id)
}

// entry is one name in a tree.
type entry struct {
	name, mode, id string
}

// The modes of entries that are more than files.
const (
	modeTree      = "40000"
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// entries reads a tree. Git sorts the entries, directories as if they ended in a slash.
func (o object) entries() (list []entry, err error) {
	if o.kind != "tree" {
		return nil, fmt.Errorf("%.12s is a %s, not a tree", o.id, o.kind)
	}
	length := len(o.id) / 2 // of a hash, in bytes
	for rest := o.data; len(rest) > 0; {
		header, after, found := bytes.Cut(rest, []byte{0})
		mode, name, spaced := strings.Cut(string(header), " ")
		if !found || !spaced || len(after) < length {
			return nil, fmt.Errorf("tree %.12s is damaged", o.id)
		}
		list = append(list, entry{name, mode, hex.EncodeToString(after[:length])})
		rest = after[length:]
	}
	return list, nil
}
