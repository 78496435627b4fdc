import { execFile } from 'node:child_process'
import { link, mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type ArchiveSegment, sha256Hex } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ArchiveFiles, ArchiveFolder } from './files.ts'
import { compress, openArchive, readProvenSegment, readSegment } from './read.ts'

const MIB = 1_048_576
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archive-files-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('ArchiveFolder', () => {
  it('a pipe, a device, a folder and a loop are no files of an archive, and none is waited for', async () => {
    const path = join(folder, 'malicious')
    await mkdir(join(path, 'segments/folder'), { recursive: true })
    await promisify(execFile)('mkfifo', [join(path, 'segments/pipe')])
    await symlink('/dev/zero', join(path, 'segments/device'))
    const files = new ArchiveFolder(path)
    for (const name of ['pipe', 'device', 'folder', 'none'])
      expect(await files.read(`segments/${name}`, MIB), name).toBeUndefined()
    await symlink('loop', join(path, 'segments/loop'))
    await expect(files.read('segments/loop', MIB)).rejects.toThrow('cannot be read')
  })

  it('a pipe in place of a manifest is a missing manifest', async () => {
    const path = join(folder, 'piped')
    await mkdir(join(path, 'manifests'), { recursive: true })
    await promisify(execFile)('mkfifo', [join(path, 'manifests/00000001.json')])
    const { publicKey } = await testSigner('authority')
    const { finding } = await openArchive(new ArchiveFolder(path), { keys: [publicKey], network: 'TEST-NET' })
    expect(finding).toEqual({ file: 'manifests/00000001.json', reason: 'manifest_missing' })
  })

  it('reads a file up to its limit', async () => {
    const path = join(folder, 'sizes')
    await mkdir(join(path, 'segments'), { recursive: true })
    await writeFile(join(path, 'segments/x'), 'abc')
    const files = new ArchiveFolder(path)
    expect(Buffer.from((await files.read('segments/x', 3)) ?? []).toString()).toBe('abc')
    await truncate(join(path, 'segments/x'), 5 * MIB)
    expect(await files.read('segments/x', 3)).toHaveLength(4)
  })

  /** Records what is written to the disk, and refuses second names. */
  function recorded(path: string, hasLinks: boolean): { files: ArchiveFolder; calls: string[] } {
    const calls: string[] = []
    const note = async (call: string, at: string): Promise<void> => void calls.push(`${call} ${relative(folder, at)}`)
    const refused = Object.assign(new Error('refused'), { code: 'EPERM' })
    const disk = {
      link: (from: string, to: string) => (hasLinks ? link(from, to) : Promise.reject(refused)),
      syncFile: (at: string) => note('file', at),
      syncFolder: (at: string) => note('folder', at),
    }
    return { files: new ArchiveFolder(path, disk), calls }
  }

  it('names of new folders are on the disk before a file counts, also of a file that was there', async () => {
    const { files, calls } = recorded(join(folder, 'new/archive'), true)
    expect(await files.create('segments/x', Buffer.from('abc'))).toBe(true)
    expect(calls.splice(0)).toEqual(['folder new/archive', 'folder new', 'folder ', 'folder new/archive/segments'])
    expect(await files.create('segments/x', Buffer.from('abc'))).toBe(false)
    expect(calls).toEqual(['folder new/archive/segments'])
    await expect(files.create('segments/x', Buffer.from('abd'))).rejects.toThrow('with another content')
  })

  it('a copy is on the disk where a file has one name only', async () => {
    const { files, calls } = recorded(join(folder, 'copied'), false)
    expect(await files.create('segments/x', Buffer.from('abc'))).toBe(true)
    expect(calls).toContain('file copied/segments/x')
    expect(await readFile(join(folder, 'copied/segments/x'), 'utf8')).toBe('abc')
  })
})

/** An archive with these files only. */
function filesOf(contents: Readonly<Record<string, Uint8Array>>): ArchiveFiles & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    list: async () => Object.keys(contents),
    read: async (name) => {
      asked.push(name)
      return contents[name]
    },
    create: () => Promise.reject(new Error('read only')),
  }
}

describe('a malicious archive', () => {
  /** A segment with this text, as a manifest that was written again names it. */
  async function segmentOf(text: Uint8Array): Promise<{ files: ArchiveFiles; segment: ArchiveSegment }> {
    const content = await compress(text)
    const digest = sha256Hex(content)
    const segment = { digest, bytes: content.length, first: 1, last: 3, tree: [] }
    return { files: filesOf({ [`segments/${digest}.jsonl.zst`]: content }), segment }
  }

  it('millions of empty lines in a small segment do not become values', async () => {
    const { files, segment } = await segmentOf(Buffer.alloc(100 * MIB, '\n'))
    expect(segment.bytes).toBeLessThan(MIB)
    const before = performance.now()
    expect(await readProvenSegment(files, segment, () => false)).toBe('segment_tree_mismatch')
    expect(performance.now() - before).toBeLessThan(5000)
  })

  it('a segment of more text than any has is not decompressed as a whole', async () => {
    const { files, segment } = await segmentOf(Buffer.alloc(200 * MIB, 'a\n'))
    expect(await readSegment(files, segment)).toBe('segment_invalid')
  })

  it('a segment that is larger than any text is not read', async () => {
    const files = filesOf({})
    const segment = { digest: '0'.repeat(64), bytes: 1e15, first: 1, last: 3, tree: [] }
    expect(await readSegment(files, segment)).toBe('segment_invalid')
    expect(files.asked).toEqual([])
  })

  it('any number of other files does not stop the command', async () => {
    const files = filesOf(Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`segments/${n}`, Buffer.of()])))
    const { publicKey } = await testSigner('authority')
    const { otherFiles } = await openArchive(files, { keys: [publicKey], network: 'TEST-NET' })
    expect(otherFiles).toHaveLength(200_000)
  })
})
