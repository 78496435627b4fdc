import { HOUR, canonicalBytes, toBase64, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway, TestIssuer } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Script, type ScriptedAuthority, startScriptedAuthority } from '../../scripted-authority.suite.ts'
import { expectRefusal } from '../../test-gateway.suite.ts'
import { MemberCache } from './mesh-document.ts'

const clock = new ManualClock('2026-03-02T12:00:00Z')
const who = testClient('who', ['alpha'])
let by: TestIssuer
let authority: ScriptedAuthority
let gateway: TestGateway
beforeEach(async () => {
  by = await testIssuer('alpha')
  authority = await startScriptedAuthority()
  const network = { authority_url: authority.url, allow_http: true, public_mesh: true }
  const list = await testList(by, clock.now())
  gateway = await startTestGateway({ policy: testPolicy({ alpha: testNetwork(by, list, network) }, [who]), clock })
})
afterEach(async () => {
  await gateway.stop()
  await authority.stop()
})

async function membership(number: number, claims: JsonObject): Promise<JsonObject> {
  const now = clock.now()
  const name = `member-${String(number).padStart(4, '0')}`
  const record: JsonObject = {
    attestation_id: `id-${name}`,
    issuer_sovereign_id: 'alpha',
    subject_id: name,
    roles: ['role:client'],
    claims,
    status: 'active',
    issued_at: writeInstant(now),
    valid_from: writeInstant(now),
    expires_at: writeInstant(now + HOUR),
  }
  const sig = toBase64(await by.signer.sign(canonicalBytes(record)))
  return { status: 'active', attestation: { ...record, signatures: [{ key_id: by.keyId, sig }] } }
}

const members = (count: number): Promise<JsonObject[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => membership(n, { public_mesh: true })))

/** Serves the rows by cursor, `size` at a time; `page` may return another response. */
function serve(rows: readonly JsonValue[], size: number, page: (number: number, limit: number) => Script | undefined) {
  authority.answer = ({ target }) => {
    const { pathname, searchParams } = new URL(target, 'http://x')
    if (pathname === '/recognition-treaties') return { body: '{"recognition_treaties":[]}' }
    if (pathname !== '/attestations') return { status: 404 }
    const start = Number(searchParams.get('cursor') ?? 0)
    const given = page(start / size, Number(searchParams.get('limit')))
    if (given !== undefined) return given
    const next = start + size < rows.length ? String(start + size) : null
    return { body: writeJson({ attestations: rows.slice(start, start + size), next_cursor: next }) }
  }
}

const NEVER = (): undefined => undefined

interface View {
  readonly networks: readonly { member_count: number; members_truncated: boolean; links_truncated: boolean }[]
  readonly members: readonly { subject: string }[]
}

const read = async (): Promise<View> => (await gateway.request('GET', '/v1/mesh')).body as unknown as View
const asked = (): number => authority.seen.filter(({ target }) => target.startsWith('/attestations')).length

describe('the mesh', () => {
  it('reads every page, including the member on the last one', async () => {
    const rows = await Promise.all(
      Array.from({ length: 30 }, (_, n) => membership(n, n === 0 || n === 29 ? { public_mesh: true } : {})),
    )
    serve(rows, 7, NEVER)
    const { members: shown, networks } = await read()
    expect(shown.map(({ subject }) => subject)).toEqual(['member-0000', 'member-0029'])
    expect(networks[0]).toMatchObject({ member_count: 2, members_truncated: false, links_truncated: false })
    expect(asked()).toBe(5)
  })

  it('reports when it could not read all members', async () => {
    serve(await members(6), 2, (page) => (page === 2 ? { status: 500 } : undefined))
    const { members: shown, networks } = await read()
    expect(shown).toHaveLength(4)
    expect(networks[0]).toMatchObject({ member_count: 4, members_truncated: true, links_truncated: false })
  })

  it('stops after 50 pages of a list that never ends', async () => {
    const [row] = await members(1)
    authority.answer = ({ target }) => {
      const cursor = Number(new URL(target, 'http://x').searchParams.get('cursor') ?? 0)
      return { body: writeJson({ attestations: [row ?? {}], next_cursor: String(cursor + 1) }) }
    }
    const { networks } = await read()
    expect([asked(), networks[0]?.members_truncated, networks[0]?.member_count]).toEqual([50, true, 1])
  })

  it('requests shorter pages when one is too long', async () => {
    const rows = await members(3)
    const long = { body: `"${'x'.repeat(3_000_000)}"` }
    serve(rows, 3, (_page, limit) => (limit > 200 ? long : undefined))
    expect((await read()).networks[0]).toMatchObject({ member_count: 3, members_truncated: false })
    expect(asked()).toBe(2)
  })
})

describe('GET /v1/mesh?network=', () => {
  const page = (query: string) => gateway.request('GET', `/v1/mesh?${query}`)

  it('returns all members of one observation, 500 per page', async () => {
    serve(await members(1101), 400, NEVER)
    expect((await read()).members).toHaveLength(64)
    const before = asked()
    const seen: string[] = []
    let query = 'network=alpha'
    const sizes: number[] = []
    for (;;) {
      const { body } = await page(query)
      const { members: some, next_cursor } = body as unknown as View & { next_cursor: string | null }
      seen.push(...some.map(({ subject }) => subject))
      sizes.push(some.length)
      if (next_cursor === null) break
      query = `network=alpha&cursor=${next_cursor}`
    }
    expect(sizes).toEqual([500, 500, 101])
    expect(seen).toEqual(seen.toSorted())
    expect(new Set(seen).size).toBe(1101)
    expect(asked()).toBe(before)
  })

  it.each(['network=closed', 'network=', 'network=alpha&cursor=x', 'network=alpha&cursor=OTkuMQ'])(
    'refuses %s',
    async (query) => {
      serve(await members(1), 1, NEVER)
      await read()
      expectRefusal(await page(query), 400, 'invalid_request', 'parameter_invalid')
    },
  )

  it('is an empty page for a network without members', async () => {
    serve([], 1, NEVER)
    expect((await page('network=alpha')).body).toEqual({ members: [], next_cursor: null })
  })
})

describe('MemberCache', () => {
  it('caches slow lists for five minutes, and no others', () => {
    const time = { ms: 0 }
    const cache = new MemberCache({ monotonicMs: () => time.ms })
    const [slow, quick] = [{}, {}] as Parameters<MemberCache['find']>[0][]
    if (slow === undefined || quick === undefined) throw new Error('no network')
    const found = { members: [], memberCount: 0, memberPages: [], isMembersCut: false }
    cache.set(slow, found, 2001)
    cache.set(quick, found, 2000)
    expect([cache.find(slow), cache.find(quick)]).toEqual([found, undefined])
    time.ms = 299_999
    expect(cache.find(slow)).toBe(found)
    time.ms = 300_000
    expect(cache.find(slow)).toBeUndefined()
  })
})
