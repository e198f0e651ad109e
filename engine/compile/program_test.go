package compile_test

import (
	"bytes"
	"strconv"
)

// mostWritten is below the size limit of a file.
const mostWritten = 250 << 10

// textOf generates a configuration from bytes that a fuzzer changes. Each byte stands for a fragment
// of the language, or repeats the last fragments. So a few bytes generate a file of maximum size,
// and a change of one byte generates another that is mostly valid. The first byte selects native
// syntax, JSON, or the literal text that follows it.
func textOf(program []byte) (name string, text []byte) {
	if len(program) == 0 {
		return "main.lke.hcl", nil
	}
	first, program := program[0], program[1:]
	switch first % 4 {
	case 0:
		return "main.lke.hcl", program[:min(len(program), mostWritten)]
	case 1:
		return "main.lke.json", program[:min(len(program), mostWritten)]
	case 2:
		return "main.lke.json", runProgram(program, jsonFragments)
	}
	return "main.lke.hcl", runProgram(program, nativeFragments)
}

// runProgram runs a program. Byte 255 is followed by how much to repeat, and how often as a power of
// two; byte 254 by a literal byte.
func runProgram(program []byte, fragments []string) []byte {
	var text []byte
	var starts []int // of the fragments so far
	for i := 0; i < len(program) && len(text) < mostWritten; i++ {
		at := len(text)
		switch op := program[i]; {
		case op == 255 && i+2 < len(program):
			at = len(text)
			back := min(int(program[i+1])+1, len(starts))
			if back > 0 {
				part := bytes.Clone(text[starts[len(starts)-back]:])
				text = appendOften(text, part, 1<<(program[i+2]%16))
			}
			i += 2
		case op == 254 && i+1 < len(program):
			i++
			text = append(text, program[i])
		default:
			text = append(text, fragments[int(op)%len(fragments)]...)
		}
		starts = append(starts, at)
	}
	return text[:min(len(text), mostWritten)]
}

// appendOften repeats a part, with a new number for each hash sign.
func appendOften(text, part []byte, n int) []byte {
	for i := range n {
		if len(text)+len(part) > mostWritten {
			break
		}
		text = append(text, bytes.ReplaceAll(part, []byte("#"), strconv.AppendInt(nil, int64(i), 10))...)
	}
	return text
}

// programOf returns the program that writes fragments. Other text is written byte by byte.
func programOf(parts ...any) []byte {
	program := []byte{3}
	for _, part := range parts {
		switch part := part.(type) {
		case repeat:
			program = append(program, 255, byte(part.Back-1), byte(part.Power))
		case string:
			program = append(program, encode(part)...)
		}
	}
	return program
}

// A repeat repeats the last fragments of a program. The number of repetitions is a power of two.
type repeat struct{ Back, Power int }

func encode(part string) (program []byte) {
	for i, fragment := range nativeFragments {
		if fragment == part {
			return []byte{byte(i)}
		}
	}
	for _, c := range []byte(part) {
		program = append(program, 254, c)
	}
	return program
}

// The fragments.
var nativeFragments = []string{
	"\n", " ", ",", ", ", "}", "}\n", "]", ")", "{", "[", "(", " = ", " => ", " : ", " ? ", ".", "...", "\"", "#", "\\",
	"locals {\n", "a = ", "a# = ", "b# = ", "local.a", "local.a#", "local.b#", "local", "a", "a#", "0", "1", "#, ",
	"\"a\"", "\"a#\", ", "null", "true", "1e30", "\"${", "\"%{if true}", "%{endif}\"", "%{for x in ", "%{endfor}\"",
	"<<E\n", "<<-E\n", "E\n", "${", "%", "$", "/*", "*/", "//", "'", "\r", "\x00", "\xff", "<<", "é",
	"[for x in ", "{for k, x in ", " : x]", " : k => x}", " if x", "[*]", ".*", "[0]", ".a", "each.value", "each.key",
	"range(1000)", "range(", "toset(", "tolist(", "tomap(", "tostring(", "concat(", "join(\",\", ", "split(\",\", ",
	"flatten(", "values(", "keys(", "merge(", "length(", "setproduct(", "setunion(", "distinct(", "sort(", "contains(",
	"jsonencode(", "jsondecode(", "yamldecode(", "format(\"%s\", ", "replace(", "regex(\"", "(a*)*", "(.*)", "{30}",
	"[a-z]+", "try(", "can(", "file(\"main.lke.hcl\")", "coalesce(", "zipmap(", "compact(", "upper(", "substr(", "all(",
	"atleast(1, ", "between(1, 5)", "exists()", " + ", " * ", " == ", " && ", "!", "-",
	"pool \"a\" {\n  node_class = node_class.a\n", "pool \"a#\" {\n  node_class = node_class.a\n", "node_class \"a\" {\n",
	"node_class \"a#\" {}\n", "for_each = ", "enabled = ", "requirements = {", "arch = \"amd64\", ", "\"a/b#\" = ",
	"labels = {", "taints = [", "\"a=b:NoSchedule\", ", "limits = { cpu = ", "manifest = {", "weight = ",
	"disruption {\n", "budget {\n    nodes = \"10%\"\n}\n", "dynamic \"budget\" {\n", "content {\n", "nodes = ",
	"limits \"a#\" {\n  nodes = 1\n", "pools = [", "pool.a", "values(pool.a)", "pool", "node_class.a",
	"variable \"a\" {\n", "variable \"a#\" {}\n", "type = ", "list(", "map(", "set(string)", "object({", "optional(any, ",
	"optional(string, \"a\"), ", "default = ", "validation {\n", "condition = ", "error_message = ", "var.a",
	"check \"a#\" {\n  assert {\n", "policy \"a#\" {\n", "plan.nodes.total", "moved {\n  from = pool.a#\n  to = pool.b#\n}\n",
	"removed {\n  from = pool.a#\n}\n", "import {\n  to = pool.a\n  id = \"a\"\n}\n", "module \"a#\" {\n  source = \"./m\"\n",
	"overlay \"a#\" {\n", "buffer \"a#\" {\n", "guards {\n", "lkeplan:ignore all ",
}

var jsonFragments = []string{
	"{", "}", "[", "]", ",", ":", "\"", "\"a\":", "\"a#\":", "\"a\",", "\"a#\",", "1", "1,", "null", "true", "1e30", "\\",
	"\\n", "\\u0041", "\"locals\":{", "\"pool\":{\"a\":{", "\"pool\":{\"a#\":{", "\"node_class\":{\"a\":{}},",
	"\"node_class\":\"${node_class.a}\",", "\"for_each\":", "\"dynamic\":{\"budget\":{", "\"content\":{\"nodes\":\"10%\"}}}",
	"\"disruption\":{", "\"variable\":{\"a\":{", "\"type\":\"list(string)\",", "\"default\":", "\"${", "}\"", "\"${local.a}\"",
	"\"${range(1000)}\"", "\"${[for x in range(1000) : x]}\"", "%{if true}", "%{endif}", "%", "$", "//", " ", "\n", "\x00",
	"\"requirements\":{", "\"labels\":{", "\"taints\":[", "\"check\":{\"a#\":{\"assert\":{", "\"condition\":",
	"\"error_message\":\"a\"", "\"module\":{\"a#\":{\"source\":\"./m\"", "\"manifest\":{", "\"${local.a#}\",", "-", ".5", "é",
}
