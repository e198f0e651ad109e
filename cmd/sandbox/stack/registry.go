package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Registry remembers where this user's sandboxes are, so that they are found
// without being named. It is a directory with a small file for each of them.
type Registry string

// add records a sandbox.
func (r Registry) add(dir string) error {
	if err := os.MkdirAll(string(r), 0o755); err != nil {
		return fmt.Errorf("register the sandbox: %w", err)
	}
	if err := os.WriteFile(r.entry(dir), []byte(dir+"\n"), 0o644); err != nil {
		return fmt.Errorf("register the sandbox: %w", err)
	}
	return nil
}

// remove removes a sandbox from the list, if it is there.
func (r Registry) remove(dir string) error {
	if err := os.Remove(r.entry(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unregister the sandbox: %w", err)
	}
	return nil
}

func (r Registry) entry(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(string(r), hex.EncodeToString(sum[:8]))
}

// List returns the recorded sandboxes, the oldest first, whether they run or not.
// Entries whose directory is gone are dropped.
func (r Registry) List() ([]*State, error) {
	entries, err := os.ReadDir(string(r))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sandboxes: %w", err)
	}
	var all []*State
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(string(r), e.Name()))
		if err != nil {
			continue // taken down at this moment
		}
		dir := strings.TrimSpace(string(text))
		s, err := Load(dir)
		if errors.Is(err, ErrNoSandbox) {
			// One that is about to write its state has its directory; keep that.
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				_ = r.remove(dir)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *State) int { return a.Began.Compare(b.Began) })
	return all, nil
}
