package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// A move gives the objects at one address the names that they would have at another. Both addresses
// start at the root.
type move struct {
	from, to     trail
	fromAt, toAt hcl.Range
	in           *compiler

	fromText, toText string
}

// MaxMoves is the maximum number of moved blocks, of import blocks and of removed blocks. Each such
// block is compared with all objects.
const MaxMoves = 500

// MaxImports is the maximum number of import blocks of a directory.
const MaxImports = MaxMoves

// isWithin reports whether t is at an address or below it. An address without a key includes all
// elements.
func isWithin(address, t trail) bool {
	last := len(address) - 1
	return len(t) > last && slices.Equal(address[:last], t[:last]) &&
		address[last].typ == t[last].typ && address[last].name == t[last].name &&
		(address[last].key == "" || address[last].key == t[last].key)
}

// undo returns the address of the object at t before the move.
func (m move) undo(t trail) trail {
	last := len(m.to) - 1
	before := slices.Clone(m.from)
	if m.to[last].key == "" && before[len(before)-1].key == "" {
		before[len(before)-1].key = t[last].key
	}
	return append(before, t[last+1:]...)
}

// left reports whether an object is still at the old address of the move.
func (m move) left(t trail) bool {
	if m.to[len(m.to)-1].key == "" {
		return isWithin(m.from, t)
	}
	// One element moved, so from is also one object: pool.web can have become pool.web["a"].
	last := len(m.from) - 1
	return isWithin(m.from, t) && m.from[last].key == t[last].key
}

// before follows the moves of an object back to its first address.
func (all *compilation) before(t trail) trail {
	for range all.moves { // stop here, in case of a cycle
		m, ok := all.moveTo(t)
		if !ok {
			break
		}
		t = m.undo(t)
	}
	return t
}

// moveTo returns the most specific move to the object at t: to the object itself, to its block, or
// to a module that contains it.
func (all *compilation) moveTo(t trail) (move, bool) {
	if len(all.moves) == 0 {
		return move{}, false
	}
	for n := len(t); n > 0; n-- {
		if i, ok := all.movesTo[t[:n].String()]; ok {
			return all.moves[i], true
		}
		if last := t[n-1]; last.key != "" {
			last.key = ""
			if i, ok := all.movesTo[t[:n-1].to(last).String()]; ok {
				return all.moves[i], true
			}
		}
	}
	return move{}, false
}

// declareMoves reads the moved blocks of a directory. In a module, addresses are relative to the
// module.
func (c *compiler) declareMoves() {
	blocks := c.dir.Blocks.OfType(schemas.Moved.Type)
	if len(c.moves)+len(blocks) > MaxMoves {
		c.report(tooMany(blocks[0])...)
		return
	}
	for _, block := range blocks {
		content, diags := block.Body.Content(decode.Schema(schemas.Moved))
		c.report(diags...)
		if diags.HasErrors() {
			continue
		}
		fromAttr, toAttr := content.Attributes["from"], content.Attributes["to"]
		from, fromDiags := readAddress(fromAttr)
		to, toDiags := readAddress(toAttr)
		c.report(append(fromDiags, toDiags...)...)
		if from == nil || to == nil {
			continue
		}
		m := move{
			from: append(slices.Clip(c.path), from...), fromAt: fromAttr.Expr.Range(),
			to: append(slices.Clip(c.path), to...), toAt: toAttr.Expr.Range(),
			in: c,
		}
		m.fromText, m.toText = m.from.String(), m.to.String()
		if a, b := from[len(from)-1].typ, to[len(to)-1].typ; a != b {
			c.report(diag.At("Move to another kind", fmt.Sprintf("A %s cannot become a %s.", a, b), m.toAt))
			continue
		}
		if _, taken := c.movesTo[m.toText]; !taken {
			c.movesTo[m.toText] = len(c.moves)
		}
		c.moves = append(c.moves, m)
	}
}

func tooMany(block *hcl.Block) hcl.Diagnostics {
	instead := "Delete blocks that were applied."
	if block.Type == schemas.Moved.Type {
		instead = `Set the previous name in some of the moved blocks, as in name = "web", and delete their moved ` +
			`blocks.`
	}
	return hcl.Diagnostics{diag.Limit("Too many blocks",
		fmt.Sprintf("A directory can have at most %d %s blocks. %s", MaxMoves, block.Type, instead), block.DefRange)}
}

// checkMoves reports moves that contradict each other or the declared objects.
func (all *compilation) checkMoves() {
	for i, m := range all.moves {
		if steps := all.circle(m); len(steps) > 0 {
			if !slices.ContainsFunc(all.moves[:i], func(e move) bool { return slices.Contains(steps, e.toText) }) {
				m.report("Moves in a cycle",
					fmt.Sprintf("Each of these addresses would get the name of the previous one: %s.",
						strings.Join(append(steps, steps[0]), " → ")), m.toAt)
			}
			continue
		}
		for _, earlier := range all.moves[:i] {
			if earlier.toText == m.toText {
				m.report("Moved twice",
					fmt.Sprintf("%s already has the name of %s: %s.", m.to, earlier.from,
						diag.Line(earlier.toAt)), m.toAt)
			}
			if earlier.fromText == m.fromText {
				m.report("Moved twice",
					fmt.Sprintf("%s has already become %s: %s.", m.from, earlier.to,
						diag.Line(earlier.fromAt)), m.fromAt)
			}
		}
		all.checkMove(m)
	}
}

// checkMove compares a move with the declared objects.
func (all *compilation) checkMove(m move) {
	if i, ok := all.declared(func(i instance) bool { return m.left(i.at) }); ok {
		at := i.object.Origins.Find("").Range
		m.report("Moved object is still declared",
			fmt.Sprintf("%[1]s is declared at %[2]s and keeps its name. If you renamed the block, rename it from %[1]s to "+
				"%[3]s. If %[3]s is another block that should get this name, set name = %[4]q in %[3]s, and another name in %[1]s.",
				i.at, diag.Line(at), m.to, m.from.objectName()), m.fromAt)
		return
	}
	moved := slices.ContainsFunc(all.moves, func(later move) bool { return isWithin(later.from, m.to) })
	if moved {
		return // one of several steps
	}
	found, diags := all.compilers[0].find(m.to, m.toAt)
	for _, d := range diags {
		d.Detail += " If it was deleted, delete this moved block."
	}
	m.in.report(diags...)
	for _, i := range found {
		if i.object.Origins.Find("metadata.name").Arg != nil {
			d := diag.At("Move without effect",
				fmt.Sprintf("%s sets its own name, %q, so this block has no effect. Delete it.", i.at,
					i.name), m.toAt)
			d.Severity = hcl.DiagWarning
			m.in.report(d)
		}
	}
}

// declared returns the first matching object.
func (all *compilation) declared(matches func(instance) bool) (instance, bool) {
	for _, c := range all.compilers {
		for i := range c.allInstances() {
			if matches(i) {
				return i, true
			}
		}
	}
	return instance{}, false
}

// circle returns the steps of the cycle that contains a move, if there is one.
func (all *compilation) circle(m move) (steps []string) {
	at := m
	for range all.moves {
		steps = append(steps, at.toText)
		if at.fromText == m.toText {
			slices.Reverse(steps)
			return steps
		}
		i, ok := all.movesTo[at.fromText]
		if !ok {
			return nil
		}
		at = all.moves[i]
	}
	return nil
}

// report records an error about a move. Duplicate names are then not reported, because they may
// follow from it.
func (m move) report(summary, detail string, at hcl.Range) {
	m.in.namesInDoubt = true
	m.in.report(diag.At(summary, detail, at))
}
