import { asJson, digestOfPart, draftRevocationFeed, partOf, signList } from '@chancery/protocol'
import type { FeedIndex, FeedPart, RevocationFeed } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { ResponseError } from '../errors.ts'
import { type Reply, type TestServer, listen } from '../http/http-server.suite.ts'
import { readWholeFeed } from './whole-feed.ts'

const signer = await testSigner('na-partner', 'partner na')
const KEYS = [signer.publicKey]
const NET = 'PARTNER-NET'

function partsOf(ids: readonly string[], part_bits: number): readonly FeedPart[] {
  return Array.from({ length: 2 ** part_bits }, (_, part) => {
    const own = ids.filter((id) => partOf(id, part_bits) === part).sort()
    const revocation_reasons = Object.fromEntries(own.map((id) => [id, 'left']))
    return { issuer_sovereign_id: NET, part, part_bits, revoked_attestation_ids: own, revocation_reasons }
  })
}

function indexOf(parts: readonly FeedPart[], sequence: number, by = signer): Promise<FeedIndex> {
  return signList(
    {
      index_id: `index-${sequence}`,
      issuer_sovereign_id: NET,
      issued_by: by.keyId,
      sequence,
      issued_at: '2030-01-03T12:00:00Z',
      total_ids: parts.reduce((sum, part) => sum + part.revoked_attestation_ids.length, 0),
      part_bits: Math.log2(parts.length),
      parts: parts.map((part) => ({
        part: part.part,
        count: part.revoked_attestation_ids.length,
        digest: digestOfPart(part),
      })),
      signatures: [],
    },
    by,
  )
}

const MISSING: Reply = {
  status: 404,
  json: { error: { code: 'not_found', message: 'x', details: {}, request_id: 'r' } },
}

let server: TestServer
afterEach(() => server.close())

/** Serves an index and parts; `at` may answer a request differently. */
async function serve(
  index: FeedIndex,
  parts: readonly FeedPart[],
  at: (target: string, count: number) => Reply | undefined = () => undefined,
): Promise<void> {
  server = await listen(({ target }, count) => {
    const part = parts[Number(/\/parts\/(\d+)$/.exec(target)?.[1] ?? '-1')]
    const found = target.endsWith('/index') ? index : part
    return at(target, count) ?? (found === undefined ? MISSING : { json: asJson(found) })
  })
}

const targets = (): readonly string[] => server.received.map(({ target }) => target.replace(/^.*feed/, ''))
const read = (options = {}) => readWholeFeed(server.url, KEYS, { retry: false, ...options })

describe('readWholeFeed', () => {
  const ids = Array.from({ length: 40 }, (_, i) => `att-${i}`)
  const parts = partsOf(ids, 2)

  it('reads the index and every part', async () => {
    await serve(await indexOf(parts, 7), parts)
    const whole = await read({ issuer: NET })
    expect([whole.issuer_sovereign_id, whole.sequence, whole.revoked.size]).toEqual([NET, 7, 40])
    expect([whole.revoked.get('att-3'), whole.revoked.has('att-40')]).toEqual(['left', false])
    expect(targets()).toEqual(['/index', '/parts/0', '/parts/1', '/parts/2', '/parts/3'])
  })

  it('reads only the parts that changed since an earlier read', async () => {
    await serve(await indexOf(parts, 7), parts)
    const { inParts } = await read()
    await server.close()
    const next = partsOf([...ids, 'att-new'], 2)
    await serve(await indexOf(next, 8), next)
    const whole = await read({ held: inParts })
    expect([whole.sequence, whole.revoked.has('att-new')]).toEqual([8, true])
    expect(targets()).toEqual(['/index', `/parts/${partOf('att-new', 2)}`])
  })

  it('reads the plain feed where there is no index', async () => {
    const draft = draftRevocationFeed({
      feed_id: 'f',
      issuer_sovereign_id: NET,
      sequence: 3,
      issued_at: '2030-01-03T12:00:00Z',
      reasons: new Map([
        ['a', 'left'],
        ['b', null],
      ]),
      issued_by: signer.keyId,
    })
    const feed: RevocationFeed = await signList(draft, signer)
    server = await listen(({ target }) => (target.endsWith('/index') ? MISSING : { json: asJson(feed) }))
    const whole = await read()
    expect([...whole.revoked]).toEqual([
      ['a', 'left'],
      ['b', undefined],
    ])
    expect([whole.sequence, whole.feed?.feed_id, whole.inParts]).toEqual([3, 'f', undefined])
  })

  it('reads the index again when the feed changed meanwhile, three times at most', async () => {
    const stale = await indexOf(partsOf(ids.slice(1), 2), 6)
    await serve(await indexOf(parts, 7), parts, (_, count) => (count === 1 ? { json: asJson(stale) } : undefined))
    expect((await read()).sequence).toBe(7)
    await server.close()
    await serve(stale, parts)
    await expect(read()).rejects.toThrow(ResponseError)
    expect(targets().filter((target) => target === '/index')).toHaveLength(3)
  })

  it('refuses another key and another issuer before it reads a part', async () => {
    await serve(await indexOf(parts, 7, await testSigner('na-partner', 'another key')), parts)
    await expect(read()).rejects.toThrow('not signed by one of the given keys')
    await server.close()
    await serve(await indexOf(parts, 7), parts)
    await expect(read({ issuer: 'OTHER-NET' })).rejects.toThrow('another issuer')
    expect(targets()).toEqual(['/index'])
  })
})
