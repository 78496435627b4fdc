import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OperatorTier, writeOperatorsFile } from '@chancery/contract'
import { type Log, silentLog } from '@chancery/service-kit'
import { accepted, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const NAMES = { a: 'privileged', b: 'standard', c: 'standard' } as const

let folder: string
let file: string
let na: TestAuthority
const errors: unknown[] = []
const log: Log = { ...silentLog, error: (_event, facts) => void errors.push(facts) }

async function textOf(tiers: Readonly<Record<string, OperatorTier>>, removed: readonly string[] = []): Promise<string> {
  const listed = Object.entries(tiers).map(async ([name, tier]) => {
    const { publicKey } = await testSigner(`op-${name}`)
    return { key_id: `op-${name}`, public_key: publicKey, tier, added_at: null }
  })
  const gone = removed.map(async (name) => ({
    key_id: `op-${name}`,
    public_key: (await testSigner(`op-${name}`)).publicKey,
    removed_at: '2030-01-01T00:00:00Z',
  }))
  return writeOperatorsFile({ operators: await Promise.all(listed), removed: await Promise.all(gone) })
}

/** Replaces the file as the command line does. */
async function put(text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

function start(database = na?.database): Promise<TestAuthority> {
  const settings = { OPERATOR_PUBLIC_KEYS_JSON: file, OPERATOR_KEY_TIERS_JSON: '{}' }
  return startTestAuthority({ operators: NAMES, settings, log, ...(database === undefined ? {} : { database }) })
}

const ping = (name: string, authority = na): Promise<TestResponse> => authority.as(name)('GET', '/admin/policy/history')

async function lastChange(): Promise<unknown> {
  return (await na.auditEvents('operator_keys_changed')).at(-1)?.['details']
}

const entry = (id: string, tier: string): unknown =>
  expect.stringMatching(new RegExp(`^op-${id} ${tier} [0-9a-f]{16}$`))

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-operators-'))
  file = join(folder, 'operators.json')
  await put(await textOf({ a: 'privileged' }))
  na = await start(undefined)
})
afterAll(async () => {
  await na.stop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => void errors.splice(0))

describe('an operators file', () => {
  it('lists the operators, and the audit log names them once', async () => {
    accepted(await ping('a'))
    refused(await ping('b'), 401, 'admin_auth_failed')
    expect(await na.auditEvents('operator_keys_changed')).toHaveLength(1)
    expect(await lastChange()).toMatchObject({ cause: 'start', added: [entry('a', 'privileged')], removed: [] })
  })

  it('applies a change from the next request on, with an audit event', async () => {
    await put(await textOf({ a: 'privileged', b: 'standard' }))
    accepted(await ping('b'))
    expect(await lastChange()).toMatchObject({
      cause: 'reload',
      added: [entry('b', 'standard')],
      removed: [],
      operators: [entry('a', 'privileged'), entry('b', 'standard')],
    })
    await put(await textOf({ a: 'privileged' }, ['b']))
    refused(await ping('b'), 401, 'admin_auth_failed')
    expect(await lastChange()).toMatchObject({ added: [], removed: [entry('b', 'standard')] })
  })

  it('records a changed tier, and nothing when only the text changes', async () => {
    await put(await textOf({ a: 'privileged', b: 'privileged' }))
    accepted(await ping('b'))
    const { length } = await na.auditEvents('operator_keys_changed')
    await put(`\n${await textOf({ a: 'privileged', b: 'privileged' })}`)
    accepted(await ping('b'))
    expect(await na.auditEvents('operator_keys_changed')).toHaveLength(length)
  })

  it('cannot make a revoked key usable again', async () => {
    await put(await textOf({ a: 'privileged', b: 'standard', c: 'standard' }))
    accepted(await ping('c'))
    accepted(await na.as('a')('POST', '/admin/operator-keys/op-c/revoke', { reason: 'stolen' }))
    refused(await ping('c'), 401, 'admin_auth_failed')
    await put(await textOf({ a: 'privileged', b: 'standard' }))
    refused(await ping('c'), 401, 'admin_auth_failed')
    await put(await textOf({ a: 'privileged', b: 'standard', c: 'privileged' }))
    refused(await ping('c'), 401, 'admin_auth_failed')
  })

  it('cannot make the public key of a revoked key usable under another id', async () => {
    const stolen = await testSigner('op-c')
    await put((await textOf({ a: 'privileged', c: 'privileged' })).replace('op-c', 'op-new'))
    const signer = { ...stolen, keyId: 'op-new', sign: (bytes: Uint8Array) => stolen.sign(bytes) }
    refused(await na.as('c')('GET', '/admin/policy/history', undefined, { signer }), 401, 'admin_auth_failed')
    expect((await na.auditEvents('admin_auth_failed')).at(-1)?.['details']).toMatchObject({ reason: 'revoked_key' })
    expect(accepted(await na.as('a')('GET', '/admin/operator-keys/op-new/activity'))['revoked']).toBe(true)
    const listed = accepted(await na.as('a')('GET', '/admin/operator-keys'))['operator_keys']
    expect(listed).toContainEqual(expect.objectContaining({ key_id: 'op-new', usable: false, reason: 'stolen' }))
    refused(await na.as('a')('POST', '/admin/operator-keys/op-a/revoke', {}), 409, 'last_active_operator_key')
  })

  it.each<[string, () => Promise<string>]>([
    ['no JSON', () => Promise.resolve('{"operators": [')],
    ['too many bytes', async () => (await textOf({ a: 'privileged' })) + ' '.repeat(1_048_576)],
    ['an unknown tier', async () => (await textOf({ a: 'privileged' })).replace('privileged', 'root')],
    ['one id twice', async () => (await textOf({ a: 'privileged', b: 'standard' })).replace('op-b', 'op-a')],
    [
      'a key of the authority',
      async () => {
        const { public_key } = na.genesis.network_authority
        const { publicKey } = await testSigner('op-b')
        return (await textOf({ a: 'privileged', b: 'standard' })).replace(publicKey, public_key)
      },
    ],
  ])('with %s leaves the former operators in place and logs an alarm', async (_what, broken) => {
    await put(await textOf({ a: 'privileged', b: 'standard' }))
    accepted(await ping('b'))
    await put(await broken())
    accepted(await ping('a'))
    accepted(await ping('b'))
    expect(errors).toEqual([{ alarm: true, file, problem: expect.any(String) as unknown }])
  })

  it('that is gone leaves the former operators in place, until it is back', async () => {
    await rm(file)
    accepted(await ping('b'))
    await put(await textOf({ a: 'privileged' }))
    refused(await ping('b'), 401, 'admin_auth_failed')
  })

  it('that changed while the authority was stopped is recorded at the start, by one instance', async () => {
    const { length } = await na.auditEvents('operator_keys_changed')
    await put(await textOf({ a: 'privileged', b: 'privileged' }))
    const other = await start()
    accepted(await ping('b', other))
    accepted(await ping('b'))
    expect(await na.auditEvents('operator_keys_changed')).toHaveLength(length + 1)
    await other.stop()
  })
})
