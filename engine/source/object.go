package source

import (
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
