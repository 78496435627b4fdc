/**
 * A program of 64 bits without what only debuggers read: symbols, debug data and the table of sections, which are after
 * everything that the loader maps. The program runs the same instructions; a third of Node.js is such data.
 */
export function withoutSections(program: Uint8Array): Uint8Array {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength)
  const isElf64 = view.getUint32(0) === 0x7f454c46 && program[4] === 2 && program[5] === 1
  if (!isElf64) throw new Error('not a little-endian ELF program of 64 bits')
  const [table, size, count] = [
    Number(view.getBigUint64(0x20, true)),
    view.getUint16(0x36, true),
    view.getUint16(0x38, true),
  ]
  let end = table + size * count
  for (let at = table; at < table + size * count; at += size) {
    const [offset, length] = [Number(view.getBigUint64(at + 8, true)), Number(view.getBigUint64(at + 32, true))]
    end = Math.max(end, offset + length)
  }
  const stripped = program.slice(0, end)
  const head = new DataView(stripped.buffer)
  // No table of sections, no entries in it, no names of them.
  head.setBigUint64(0x28, 0n, true)
  head.setUint16(0x3c, 0, true)
  head.setUint16(0x3e, 0, true)
  return stripped
}
