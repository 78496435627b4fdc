import { accepted, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { type JsonObject, signList, writeJson } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

describe('POST /admin/policy/rollback', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority()
  })
  afterAll(() => na.stop())
  let counter = 0
  const publish = async (): Promise<{ id: string; text: string }> => {
    const id = `p-${(counter += 1)}`
    const answer = await na.as('privileged')('POST', '/admin/policy', { policy_id: id, allowed_ports: [counter] })
    accepted(answer, 201)
    return { id, text: answer.text }
  }
  const rollback = (body: JsonObject, as = 'privileged', requestId = 'any'): Promise<TestResponse> =>
    na.as(as)('POST', '/admin/policy/rollback', body, { headers: { 'X-Request-ID': requestId } })
  const activeText = async (): Promise<string> => (await na.request('GET', '/policy')).text
  const storeText = (policy_id: string, policy_json: string): Promise<unknown> =>
    rowsOf(na.core.database)
      .updateTable('policy_versions')
      .set({ policy_json })
      .where('policy_id', '=', policy_id)
      .execute()

  describe('200', () => {
    it('restores a stored version, byte for byte, and audits the operator', async () => {
      const [first, second] = [await publish(), await publish()]
      const answer = await rollback({ policy_id: first.id }, 'privileged', 'back-1')
      expect([answer.status, answer.text]).toEqual([200, first.text])
      expect(await activeText()).toBe(first.text)
      const events = (await na.auditEvents('policy_rolled_back')).map((event) => event['details'])
      expect(events).toContainEqual({
        policy_id: first.id,
        previous_policy_id: second.id,
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: 'back-1',
      })
      const rows = await na.core.database.read
        .selectFrom('policy_versions')
        .select('policy_id')
        .where('active', '=', 1)
        .execute()
      expect(rows).toEqual([{ policy_id: first.id }])
    })

    it('repeated changes nothing and audits once', async () => {
      const [first] = [await publish(), await publish()]
      accepted(await rollback({ policy_id: first.id }))
      const events = (await na.auditEvents('policy_rolled_back')).length
      expect((await rollback({ policy_id: first.id })).text).toBe(first.text)
      expect(await na.auditEvents('policy_rolled_back')).toHaveLength(events)
    })

    it('of parallel callers leaves one version active', async () => {
      const versions = [await publish(), await publish(), await publish(), await publish()]
      const answers = await Promise.all(versions.map(({ id }) => rollback({ policy_id: id })))
      for (const answer of answers) expect(answer.status).toBe(200)
      const rows = await na.core.database.read
        .selectFrom('policy_versions')
        .select('policy_json')
        .where('active', '=', 1)
        .execute()
      expect(rows).toEqual([{ policy_json: await activeText() }])
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['nothing', {}],
      ['an empty id', { policy_id: '' }],
      ['a number', { policy_id: 7 }],
      ['null', { policy_id: null }],
      ['a list', { policy_id: ['p-1'] }],
    ])('%s is missing_policy_id', async (_what, body) => {
      refused(await rollback(body), 400, 'missing_policy_id')
    })

    it('an unknown member is unexpected_field', async () => {
      expect(refused(await rollback({ policy_id: 'p-1', version: 1 }), 400, 'unexpected_field')['details']).toEqual({
        fields: ['version'],
      })
    })
  })

  describe('403', () => {
    it('requires the privileged tier, before it reports whether the version exists', async () => {
      refused(await rollback({ policy_id: 'never' }, 'standard'), 403, 'insufficient_operator_tier')
    })
  })

  describe('404', () => {
    it.each(['never', 'x'.repeat(5000), 'a\u0000b', '%', "'; drop table heads; --"])(
      'policy_not_found for an id that is not stored',
      async (policy_id) => {
        const before = await activeText()
        refused(await rollback({ policy_id }), 404, 'policy_not_found')
        expect(await activeText()).toBe(before)
      },
    )
  })

  // protocol/core 10.2: the stored signature is verified first; a mismatch is 409.
  describe('409', () => {
    const edits: [string, (text: string) => string | Promise<string>][] = [
      ['another content', (text) => text.replace(/"allowed_ports":\[\d+\]/, '"allowed_ports":[22]')],
      ['another id inside', (text) => text.replace(/"policy_id":"[^"]+"/, '"policy_id":"other"')],
      ['no signature', (text) => writeJson({ ...(JSON.parse(text) as JsonObject), signatures: [] })],
      [
        'the signature of another key',
        async (text) => {
          const { signatures: _old, ...rest } = JSON.parse(text) as JsonObject
          return writeJson(await signList(rest, await testSigner('na-test', 'stranger')))
        },
      ],
      ['an unsigned extra member', (text) => text.replace(/\}$/, ',"extra":1}')],
      ['a missing member', (text) => text.replace(/"issued_by":"[^"]+",/, '')],
      ['text that is not JSON', () => 'edited'],
    ]

    it.each(edits)('refuses a stored row that was edited: %s', async (_what, change) => {
      const [first, second] = [await publish(), await publish()]
      const edited = await change(first.text)
      expect(edited).not.toBe(first.text)
      await storeText(first.id, edited)
      const events = (await na.auditEvents('policy_rolled_back')).length
      refused(await rollback({ policy_id: first.id }), 409, 'conflict')
      expect(await activeText()).toBe(second.text)
      expect(await na.auditEvents('policy_rolled_back')).toHaveLength(events)
    })

    it('refuses an edited row also when it is the active one', async () => {
      const { id, text } = await publish()
      await storeText(id, text.replace(/"allowed_ports":\[\d+\]/, '"allowed_ports":[22]'))
      refused(await rollback({ policy_id: id }), 409, 'conflict')
      await storeText(id, text)
      expect((await rollback({ policy_id: id })).text).toBe(text)
    })

    it('does not activate an edited row when its content is published', async () => {
      const [first, second] = [await publish(), await publish()]
      await storeText(first.id, first.text.replace(/"issued_at":"[^"]+"/, '"issued_at":"2001-01-01T00:00:00Z"'))
      const ports = (JSON.parse(first.text) as { allowed_ports: number[] }).allowed_ports
      refused(
        await na.as('privileged')('POST', '/admin/policy', { policy_id: first.id, allowed_ports: ports }),
        409,
        'conflict',
      )
      expect(await activeText()).toBe(second.text)
    })
  })
})
