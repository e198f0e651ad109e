package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// State is the record of a sandbox, in sandbox.json. It is written after each start of a component, so that a
// sandbox whose start was interrupted can be stopped.
type State struct {
	Dir string `json:"dir"`
	// ReadySeconds is how long it took until all components worked; zero before.
	ReadySeconds float64     `json:"readySeconds"`
	Cluster      Cluster     `json:"cluster"`
	Components   []Component `json:"components"`
	// BinDirs are the directories of the programs, for PATH.
	BinDirs []string `json:"binDirs"`
	Kubectl string   `json:"kubectl"`
}

// The modes of a sandbox.
const (
	// ModeLKE has an LKE cluster, whose node pools become nodes.
	ModeLKE = "lke"
	// ModeInstance has no LKE cluster: Linodes are created separately and join the cluster.
	ModeInstance = "instance"
)

// Cluster describes the cluster that is simulated.
type Cluster struct {
	Mode        string `json:"mode,omitempty"` // "" means ModeLKE
	Name        string `json:"name"`
	ID          int    `json:"id"`
	Tier        string `json:"tier"`
	Region      string `json:"region"`
	LinodeToken string `json:"linodeToken"`
}

// Component is one supervised process.
type Component struct {
	Name string `json:"name"`
	process.Identity
	Ports map[string]int `json:"ports"`
	Log   string         `json:"log"`
}

// ErrNoSandbox means that a directory has no sandbox.
var ErrNoSandbox = errors.New("no sandbox here")

// Load reads the state of the sandbox in dir.
func Load(dir string) (*State, error) {
	text, err := os.ReadFile(layout(dir).state())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoSandbox)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the sandbox: %w", err)
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read the state of the sandbox: %s: %w", layout(dir).state(), err)
	}
	return &s, nil
}

// save replaces the state file atomically.
func (s *State) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := layout(s.Dir).state()
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the state of the sandbox: %w", err)
	}
	return os.Rename(path+".new", path)
}

func (s *State) index(component string) int {
	return slices.IndexFunc(s.Components, func(c Component) bool { return c.Name == component })
}

// put adds the component, or replaces the one with the same name.
func (s *State) put(c Component) {
	if i := s.index(c.Name); i >= 0 {
		s.Components[i] = c
	} else {
		s.Components = append(s.Components, c)
	}
}

// Component returns the named component; ok is false if it was never started.
func (s *State) Component(name string) (c Component, ok bool) {
	if i := s.index(name); i >= 0 {
		return s.Components[i], true
	}
	return Component{}, false
}

func (s *State) port(component, name string) int {
	c, _ := s.Component(component)
	return c.Ports[name]
}
