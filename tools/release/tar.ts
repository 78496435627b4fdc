import { readFile, readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'

/**
 * Writes .tgz files that depend on names and contents only: sorted, one time, one owner, two modes. `npm pack` and `tar`
 * add the modes of the checkout, and another npm writes other bytes.
 */

export interface TarFile {
  readonly path: string
  readonly bytes: Uint8Array
}

const BLOCK = 512

/** Every file below a folder, under `prefix`. */
export async function readTree(folder: string, prefix: string): Promise<readonly TarFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => !entry.isDirectory())
  return Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name)
      if (!entry.isFile()) throw new Error(`${path} is neither a file nor a folder`)
      return { path: `${prefix}/${relative(folder, path).replaceAll(sep, '/')}`, bytes: await readFile(path) }
    }),
  )
}

/** `seconds` is the time of every file. */
export function writeTarGz(files: readonly TarFile[], seconds: number): Uint8Array {
  const sorted = files.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
  const blocks = sorted.flatMap(({ path, bytes }) => [
    header(path, bytes, seconds),
    bytes,
    Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK),
  ])
  const packed = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
  // The number of the operating system in the header of gzip: unknown.
  packed[9] = 255
  return packed
}

/** The header of a ustar entry (POSIX.1-1988). */
function header(path: string, bytes: Uint8Array, seconds: number): Uint8Array {
  const block = Buffer.alloc(BLOCK)
  const { prefix, name } = splitPath(path)
  block.write(name, 0)
  // A script is a program. The mode of the checkout depends on its machine.
  block.write(bytes[0] === 0x23 && bytes[1] === 0x21 ? '0000755\0' : '0000644\0', 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  block.write(`${octal(bytes.length)} `, 124)
  block.write(`${octal(seconds)} `, 136)
  block.write('        ', 148)
  block.write('0', 156)
  block.write('ustar\x0000', 257)
  block.write('0000000\0', 329)
  block.write('0000000\0', 337)
  block.write(prefix, 345)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function octal(value: number): string {
  const text = value.toString(8).padStart(11, '0')
  if (text.length > 11) throw new Error(`${value} is too large for an entry of a tar file`)
  return text
}

/** A name has at most 100 bytes. A longer path is cut at a slash. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (!/^[\x20-\x7e]+$/.test(path)) throw new Error(`${path} has characters that a tar file cannot have`)
  if (path.length <= 100) return { prefix: '', name: path }
  const at = path.indexOf('/', path.length - 101)
  if (at === -1 || at > 155) throw new Error(`${path} is too long for a tar file`)
  return { prefix: path.slice(0, at), name: path.slice(at + 1) }
}
