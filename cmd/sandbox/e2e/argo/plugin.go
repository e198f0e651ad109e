package argo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/render"
)

// A Plugin is a config management plugin as its server reads it.
type Plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version    string     `json:"version"`
		Generate   Command    `json:"generate"`
		Discover   Discover   `json:"discover"`
		Parameters Parameters `json:"parameters"`
	} `json:"spec"`
}

// A Command is a program and its arguments.
type Command struct {
	Command []string `json:"command"`
	Args    []string `json:"args"`
}

// Discover says which directories a plugin is for.
type Discover struct {
	FileName string `json:"fileName"`
}

// Parameters are what a plugin announces.
type Parameters struct {
	Static  []render.Announcement `json:"static"`
	Dynamic Command               `json:"dynamic"`
}

// ReadPlugin reads plugin.yaml. A field that the server does not know, or that this
// package does not support, is an error.
func ReadPlugin(file string) (Plugin, error) {
	var p Plugin
	raw, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	if err := yaml.UnmarshalStrict(raw, &p); err != nil {
		return p, fmt.Errorf("read %s: %w", file, err)
	}
	if p.Metadata.Name == "" || p.Kind != "ConfigManagementPlugin" || len(p.Spec.Generate.Command) == 0 {
		return p, fmt.Errorf("%s has no name, another kind, or generates nothing", file)
	}
	return p, nil
}

// Name is the name of the plugin in an Application.
func (p Plugin) Name() string {
	if p.Spec.Version == "" {
		return p.Metadata.Name
	}
	return p.Metadata.Name + "-" + p.Spec.Version
}

// A Server is the sidecar that runs a plugin.
type Server struct {
	Plugin  Plugin
	Environ []string // its own
	Scratch string   // the directory in which it unpacks repositories
}

// Matches reports whether the plugin is for an Application.
func (s Server) Matches(repository string, app Application) (matches bool, err error) {
	if s.Plugin.Spec.Discover.FileName == "" {
		return false, nil // only by its name
	}
	err = s.within(repository, app, func(dir string) error {
		files, err := filepath.Glob(filepath.Join(dir, s.Plugin.Spec.Discover.FileName))
		matches = len(files) > 0
		return err
	})
	return matches, err
}

// Generate returns the objects of an Application.
func (s Server) Generate(
	ctx context.Context, repository string, app Application,
) (objects []map[string]any, err error) {
	err = s.within(repository, app, func(dir string) error {
		out, err := s.run(ctx, s.Plugin.Spec.Generate, dir, append(s.Environ, app.environ(true)...))
		if err != nil {
			return err
		}
		objects, err = split(out)
		return err
	})
	return objects, err
}

// Announced returns the parameters that an Application can set: the dynamic ones of
// its directory, and then the static ones.
func (s Server) Announced(
	ctx context.Context, repository string, app Application,
) (all []render.Announcement, err error) {
	err = s.within(repository, app, func(dir string) error {
		out, err := s.run(ctx, s.Plugin.Spec.Parameters.Dynamic, dir, append(s.Environ, app.environ(false)...))
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(out), &all)
	})
	return append(all, s.Plugin.Spec.Parameters.Static...), err
}

// within unpacks a repository, calls do with the directory of the Application in
// it, and removes it.
func (s Server) within(repository string, app Application, do func(dir string) error) error {
	unpacked, err := os.MkdirTemp(s.Scratch, "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unpacked)
	// Only the paths in the Application's annotation are sent.
	if err := os.CopyFS(unpacked, os.DirFS(filepath.Join(repository, app.Sent))); err != nil {
		return err
	}
	below, err := filepath.Rel(filepath.Join("/", app.Sent), filepath.Join("/", app.Path))
	if err != nil || !filepath.IsLocal(below) {
		return fmt.Errorf("%s is not in what is sent: %w", app.Path, err)
	}
	return do(filepath.Join(unpacked, below))
}

// run runs a command and returns its output. Its standard error is in the error, which
// Argo CD shows.
func (s Server) run(ctx context.Context, c Command, dir string, environ []string) (string, error) {
	if len(c.Command) == 0 {
		return "", errors.New("there is no command")
	}
	program, err := s.find(c.Command[0])
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append(c.Command[1:], c.Args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ, dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%q failed: %w: %s", strings.Join(append(c.Command, c.Args...), " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// find looks for a program in the PATH of the sidecar.
func (s Server) find(name string) (string, error) {
	for _, line := range s.Environ {
		if path, ok := strings.CutPrefix(line, "PATH="); ok {
			for _, dir := range filepath.SplitList(path) {
				if program, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
					return program, nil
				}
			}
		}
	}
	return "", fmt.Errorf("find %s: %w", name, exec.ErrNotFound)
}

// split parses the objects that a plugin printed.
func split(out string) (objects []map[string]any, err error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(out), 4096)
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what was generated: %w", err)
		}
		if text := bytes.TrimSpace(raw.Raw); len(text) == 0 || bytes.Equal(text, []byte("null")) {
			continue
		}
		var obj unstructured.Unstructured
		if err := yaml.Unmarshal(raw.Raw, &obj); err != nil {
			return nil, fmt.Errorf("read what was generated: %w", err)
		}
		objects = append(objects, obj.Object)
	}
}
