import { createHash } from 'node:crypto'
import {
  consistencyProof,
  inclusionProof,
  logOrigin,
  nodesFromTiles,
  openCheckpoint,
  readEventLine,
  tilePath,
  toBase64,
  verifyConsistency,
  verifyInclusion,
} from '@chancery/protocol'
import type { LogCheckpoint } from '@chancery/protocol'
import { accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forgeRows, openTestStore } from '../evidence/evidence.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
let early: LogCheckpoint
let late: LogCheckpoint
/** Digests of all entries in order, read from the export. */
let digests: readonly Buffer[]

beforeAll(async () => {
  evidenceStore = await openTestStore()
  await evidenceStore.na.features.evidenceLog.append()
  for (let count = 0; count < 5; count += 1) await evidenceStore.decide()
  early = await current()
  await Promise.all(Array.from({ length: 145 }, () => evidenceStore.decide()))
  late = await current()
  const lines = await evidenceStore.lines()
  digests = lines.map((line) => Buffer.from(readEventLine(line)?.entryDigest ?? '', 'hex'))
})
afterAll(() => evidenceStore.stop())

async function current(): Promise<LogCheckpoint> {
  await evidenceStore.na.features.evidenceLog.append()
  const note = await evidenceStore.na.request('GET', '/evidence-log/checkpoint')
  const found = await openCheckpoint(note.text, logOrigin('TEST-NET'), evidenceStore.na.core.signing.publicKey)
  if (found === undefined) throw new Error(`no checkpoint in ${note.text}`)
  return found
}

/** RFC 6962 section 2.1, in a short form. */
function root(leaves: readonly Buffer[]): Buffer {
  const sha = (...parts: readonly Uint8Array[]): Buffer => {
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest()
  }
  const [first] = leaves
  if (first === undefined) return sha()
  if (leaves.length === 1) return sha(Uint8Array.of(0), first)
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return sha(Uint8Array.of(1), root(leaves.slice(0, k)), root(leaves.slice(k)))
}

async function tileBytes(path: string): Promise<Uint8Array> {
  const response = await fetch(`${evidenceStore.na.url}/evidence-log/tile/${path}`)
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
  return new Uint8Array(await response.arrayBuffer())
}
const nodes = (size: number) => nodesFromTiles(size, (name) => tileBytes(tilePath(name)))

describe('GET /evidence-log/checkpoint', () => {
  it('200: size and root over the digests of all entries, signed under the name of the log', () => {
    expect([early.size, late.size]).toEqual([10, 300])
    expect(toBase64(early.root)).toBe(root(digests.slice(0, 10)).toString('base64'))
    expect(toBase64(late.root)).toBe(root(digests).toString('base64'))
  })

  it('200: a new log has a checkpoint over nothing', async () => {
    const other = await openTestStore()
    try {
      await other.na.features.evidenceLog.append()
      const { text } = await other.na.request('GET', '/evidence-log/checkpoint')
      expect(text.startsWith(`${logOrigin('TEST-NET')}\n0\n${root([]).toString('base64')}\n\n`)).toBe(true)
    } finally {
      await other.stop()
    }
  })

  it('follows appends automatically', async () => {
    await evidenceStore.decide()
    await expect
      .poll(async () => (await evidenceStore.na.request('GET', '/evidence-log/checkpoint')).text.split('\n')[1], {
        timeout: 5000,
      })
      .toBe('302')
  })
})

describe('GET /evidence-log/tile/{tile}', () => {
  it('200: proves from tiles alone that an entry is included, and that the log was only extended', async () => {
    for (const index of [0, 9, 255, 256, 299]) {
      const proof = await inclusionProof(index, 300, nodes(300))
      const leafHash = createHash('sha256')
        .update(Uint8Array.of(0))
        .update(digests[index] ?? Buffer.alloc(0))
        .digest()
      expect(verifyInclusion({ index, size: 300, leafHash, root: late.root, proof }), String(index)).toBe(true)
    }
    const proof = await consistencyProof(10, 300, nodes(300))
    const facts = { older: 10, newer: 300, olderRoot: early.root, newerRoot: late.root, proof }
    expect(verifyConsistency(facts)).toBe(true)
    expect(verifyConsistency({ ...facts, olderRoot: root(digests.slice(1, 11)) })).toBe(false)
  })

  it('200: full and partial tiles, cacheable permanently', async () => {
    expect((await tileBytes('0/000')).length).toBe(256 * 32)
    expect((await tileBytes('0/000.p/7')).length).toBe(7 * 32)
    expect((await tileBytes('0/001.p/44')).length).toBe(44 * 32)
    expect((await tileBytes('1/000.p/1')).length).toBe(32)
    const { headers } = await evidenceStore.na.request('GET', '/evidence-log/tile/0/000')
    expect([headers['cache-control'], headers['content-type']]).toEqual([
      'public, max-age=31536000, immutable',
      'application/octet-stream',
    ])
  })

  it('200: entry tiles of digests, each after its length, whose hashes are the leaves', async () => {
    const [bytes, leaves] = [Buffer.from(await tileBytes('entries/001.p/44')), await tileBytes('0/001.p/44')]
    expect(bytes.length).toBe(44 * 34)
    for (let at = 0; at < 44; at += 1) {
      const entry = bytes.subarray(at * 34, (at + 1) * 34)
      expect([entry[0], entry[1]]).toEqual([0, 32])
      expect(entry.subarray(2)).toEqual(digests[256 + at])
      const leaf = createHash('sha256').update(Uint8Array.of(0)).update(entry.subarray(2)).digest()
      expect(leaf.equals(leaves.subarray(at * 32, (at + 1) * 32))).toBe(true)
    }
  })

  it.each([
    '0/001',
    '0/002.p/1',
    '1/000',
    '7/000.p/1',
    '0/0',
    '0/000.p/256',
    'entries/001',
    'entries/002.p/1',
    'entries/0',
    'x',
  ])('404: %s', async (path) => {
    refused(await evidenceStore.na.request('GET', `/evidence-log/tile/${path}`), 404, 'not_found')
  })
})

describe('GET /admin/evidence-log/entries/{tile}', () => {
  it('200: envelopes whose digests are the leaves', async () => {
    const answer = await evidenceStore.get('/admin/evidence-log/entries/001.p/44')
    expect(answer.headers['content-type']).toBe('application/octet-stream')
    // Each envelope is plain ASCII, after two bytes of length.
    const texts = answer.text.match(/\{[^{}]*\}/g) ?? []
    expect(texts.map((text) => createHash('sha256').update(text).digest('hex'))).toEqual(
      digests.slice(256, 300).map((digest) => digest.toString('hex')),
    )
    const bytes = texts.reduce((sum, text) => sum + text.length + 2, 0)
    expect(answer.headers['content-length']).toBe(String(bytes))
    expect(answer.text.charCodeAt(0)).toBe((texts[0]?.length ?? 0) >> 8)
  })

  it('401 and 404: operators only, and only existing tiles', async () => {
    refused(await evidenceStore.na.request('GET', '/admin/evidence-log/entries/000'), 401, 'admin_auth_failed')
    refused(await evidenceStore.get('/admin/evidence-log/entries/002.p/9'), 404, 'not_found')
    refused(await evidenceStore.get('/admin/evidence-log/entries/x'), 404, 'not_found')
  })
})

it('keeps its hashes when retention removes the entries, and detects rewritten entries', async () => {
  const before = await current()
  evidenceStore.clock.advance(3 * 86_400)
  accepted(await evidenceStore.post('/admin/evidence/retention/apply', { older_than_days: 1 }))
  refused(await evidenceStore.get('/admin/evidence-log/entries/000'), 404, 'not_found')
  refused(await evidenceStore.na.request('GET', '/evidence-log/tile/entries/000'), 404, 'not_found')
  expect((await tileBytes('0/000')).length).toBe(256 * 32)
  const after = await current()
  const proof = await consistencyProof(before.size, after.size, nodes(after.size))
  const facts = { older: before.size, newer: after.size, olderRoot: before.root, newerRoot: after.root, proof }
  expect(verifyConsistency(facts)).toBe(true)
  // An attacker with the database and the key starts the log again over other entries.
  await evidenceStore.decide()
  await forgeRows(evidenceStore.na, 'delete from evidence_log_tiles where level = 0 and tile = 0')
  await expect(inclusionProof(0, after.size, nodes(after.size))).rejects.toThrow('0/000: 404')
})

describe('the log', () => {
  it.each([
    ['a column', `update evidence_entries set entry_digest = '${'0'.repeat(64)}' where store_sequence = 3`],
    [
      'an envelope',
      `update evidence_entries set line = replace(line, '"vendor_id":"', '"vendor_id":"x') where store_sequence = 3`,
    ],
    [
      'a payload',
      `update evidence_entries set line = replace(line, '"authorized":true', '"authorized":false') where store_sequence = 3`,
    ],
    ['a deleted row', `delete from evidence_entries where store_sequence = 3`],
    ['every row after the log', `delete from evidence_entries where store_sequence >= 3`],
  ])('signs nothing over an entry that was changed after the append: %s', async (_what, statement) => {
    const own = await openTestStore()
    const { features } = own.na
    try {
      for (let count = 0; count < 2; count += 1) await own.decide()
      // As if the log had not been extended yet. It is extended automatically a second after an append.
      await forgeRows(own.na, statement, 'delete from evidence_log_checkpoints', 'delete from evidence_log_tiles')
      await expect(features.evidenceLog.append()).rejects.toThrow(/entry 3 is/)
      refused(await own.na.request('GET', '/evidence-log/checkpoint'), 404, 'not_found')
    } finally {
      await own.stop()
    }
  })
})

it('404: is disabled with the store', async () => {
  const off = await startTestAuthority()
  try {
    for (const path of ['/evidence-log/checkpoint', '/evidence-log/tile/0/000', '/admin/evidence-log/entries/000'])
      refused(await off.request('GET', path), 404, 'evidence_store_disabled')
  } finally {
    await off.stop()
  }
})
