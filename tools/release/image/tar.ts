import { readFile, readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'

/** Writes the layers of the image, so that they depend on names and contents only. */

export interface TarFile {
  readonly path: string
  /** Empty for a link and a folder. */
  readonly bytes: Uint8Array
  readonly mode?: number
  /** Number of user and group. Default: 0. */
  readonly owner?: number
  /** The target of a symbolic link. */
  readonly link?: string
  readonly isFolder?: true
}

const BLOCK = 512

/** Every file below a folder, under `prefix`. A link is refused. */
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
export function writeTar(files: readonly TarFile[], seconds: number): Uint8Array {
  const sorted = files.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
  const blocks = sorted.flatMap((file) => [
    header(file, seconds),
    file.bytes,
    Buffer.alloc((BLOCK - (file.bytes.length % BLOCK)) % BLOCK),
  ])
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

/** The header of a ustar entry (POSIX.1-1988). */
function header(file: TarFile, seconds: number): Uint8Array {
  const { path, bytes, link = '', owner = 0 } = file
  const block = Buffer.alloc(BLOCK)
  const { prefix, name } = splitPath(path)
  block.write(name, 0)
  block.write(`${octal(modeOf(file), 7)}\0`, 100)
  block.write(`${octal(owner, 7)}\0`, 108)
  block.write(`${octal(owner, 7)}\0`, 116)
  block.write(`${octal(bytes.length)} `, 124)
  block.write(`${octal(seconds)} `, 136)
  block.write('        ', 148)
  block.write(file.isFolder === true ? '5' : link === '' ? '0' : '2', 156)
  if (link.length > 100) throw new Error(`${link} is too long for a tar file`)
  block.write(link, 157)
  block.write('ustar\x0000', 257)
  block.write('0000000\0', 329)
  block.write('0000000\0', 337)
  block.write(prefix, 345)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** A script is a program. The mode of the checkout depends on its machine. */
function modeOf({ mode, bytes, isFolder, link }: TarFile): number {
  if (mode !== undefined) return mode
  if (link !== undefined) return 0o777
  return isFolder === true || (bytes[0] === 0x23 && bytes[1] === 0x21) ? 0o755 : 0o644
}

function octal(value: number, digits = 11): string {
  const text = value.toString(8).padStart(digits, '0')
  if (text.length > digits) throw new Error(`${value} is too large for an entry of a tar file`)
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
