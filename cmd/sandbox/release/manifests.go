package main

import (
	"bytes"
	"text/template"
)

// manifests writes those by which krew and Homebrew install the CLI.
func (r *release) manifests(archives []archive) error {
	of := map[string]map[string]archive{} // by system and architecture
	for _, a := range archives {
		if of[a.OS] == nil {
			of[a.OS] = map[string]archive{}
		}
		of[a.OS][a.Arch] = a
	}
	for name, text := range map[string]string{"krew.yaml": krew, "lkeplan.rb": homebrew} {
		var out bytes.Buffer
		err := template.Must(template.New(name).Parse(text)).Execute(&out, map[string]any{
			"Version": r.version, "Archives": archives, "Of": of, "Systems": map[string]string{"darwin": "macos", "linux": "linux"},
			"URL": "https://github.com/lkeplan/lkeplan/releases/download/v" + r.version,
		})
		if err != nil {
			return err
		}
		if _, err := r.write(name, out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// krew is the manifest of kubectl's plugin manager: kubectl lkeplan.
const krew = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: lkeplan
spec:
  version: v{{.Version}}
  homepage: https://github.com/lkeplan/lkeplan
  shortDescription: Node capacity on LKE as code
  description: |
    Compiles HCL to Karpenter's objects, says what a change does to nodes and
    to the bill, applies it, and looks at what a cluster does with it.
  platforms:
  {{- range .Archives}}
    - selector: {matchLabels: {os: {{.OS}}, arch: {{.Arch}}}}
      uri: {{$.URL}}/{{.File}}
      sha256: {{.Sum}}
      bin: {{.Program}}
  {{- end}}
`

// homebrew is the formula of the tap lkeplan/tap.
const homebrew = `class Lkeplan < Formula
  desc "Node capacity on LKE as code"
  homepage "https://github.com/lkeplan/lkeplan"
  version "{{.Version}}"
  license "Apache-2.0"
{{range $os, $name := .Systems}}{{with index $.Of $os}}
  on_{{$name}} do
    {{- range $arch, $a := .}}
    on_{{if eq $arch "arm64"}}arm{{else}}intel{{end}} do
      url "{{$.URL}}/{{$a.File}}"
      sha256 "{{$a.Sum}}"
    end
    {{- end}}
  end
{{end}}{{end}}
  def install
    bin.install "lkeplan"
    generate_completions_from_executable(bin/"lkeplan", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/lkeplan --version")
  end
end
`
