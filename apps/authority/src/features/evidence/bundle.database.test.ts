import {
  boundaryDecisionForm,
  dsseBytes,
  dsseKeyId,
  fromBase64,
  readReceived,
  receivedDigest,
  verifySignature,
} from '@chancery/protocol'
import type { DsseEnvelope, JsonObject } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, refused, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgeRows, openTestStore } from './evidence.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

let store: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  store = await openTestStore()
})
afterEach(() => store.stop())

const PATH = '/admin/evidence/bundles'
const post = (body: JsonObject) => store.post(PATH, body, 'standard')
const textOf = (payload: string): string => new TextDecoder().decode(fromBase64(payload))

/** The stored line of the only decision, and its id. */
async function decided(): Promise<{ readonly id: string; readonly line: string }> {
  await store.decide()
  const row = await rowsOf(store.na.core.database)
    .selectFrom('evidence_entries')
    .select(['decision_id', 'line'])
    .where('entry_kind', '=', 'decision')
    .executeTakeFirstOrThrow()
  return { id: row.decision_id ?? '', line: row.line }
}

describe('POST /admin/evidence/bundles', () => {
  it('200: signs the stored record unchanged, in a statement about its digests, and records it', async () => {
    const { id, line } = await decided()
    const answer = await post({ decision_id: id })
    const envelope = accepted(answer)['envelope'] as unknown as DsseEnvelope
    const [{ keyid, sig }] = envelope.signatures
    const { publicKey } = store.na.core.signing
    expect(keyid).toBe(dsseKeyId(publicKey))
    const bytes = dsseBytes('application/vnd.in-toto+json', fromBase64(envelope.payload) ?? new Uint8Array())
    expect(await verifySignature(publicKey, bytes, sig)).toBe(true)
    const stored = JSON.parse(line) as { payload: { decision: JsonObject }; entry: { payload_digest: string } }
    const digest = receivedDigest(readReceived(boundaryDecisionForm, stored.payload.decision))
    const { predicate, ...statement } = JSON.parse(textOf(envelope.payload)) as { predicate: { record: string } }
    expect(statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [
        { name: `boundary-decision:${id}`, digest: { sha256: digest } },
        { name: 'evidence-entry:1', digest: { sha256: stored.entry.payload_digest } },
      ],
      predicateType: 'urn:chancery:predicate:boundary-decision:v1',
    })
    // Byte for byte a part of the stored line.
    expect(line).toContain(`"decision":${textOf(predicate.record)}`)
    const [event] = await eventsOf(store.na, answer)
    expect(event?.['event_type']).toBe('evidence_bundle_signed')
    expect(detailsOf(event)).toMatchObject({ decision_id: id, record_digest: digest, store_sequence: 1 })
  })

  it.each<[JsonObject, string]>([
    [{}, 'invalid_input'],
    [{ decision_id: 7 }, 'invalid_input'],
    [{ decision_id: 'x'.repeat(129) }, 'invalid_input'],
    [{ decision_id: 'd', payload: 'mine' }, 'unexpected_field'],
  ])('400 for %j', async (body, code) => {
    refused(await post(body), 400, code)
  })

  it('422 for an unknown decision', async () => {
    refused(await post({ decision_id: 'nothing' }), 422, 'evidence_decision_not_found')
  })

  it.each<[string, (line: string) => string]>([
    ['another capability in the context', (line) => line.replace('"context_id":"', '"context_id":"x')],
    ['the other outcome', (line) => line.replace('"authorized":true', '"authorized":false')],
    ['no signature', (line) => line.replace(/"signature":\{[^}]*\}/, '"signature":null')],
    ['no JSON', () => 'x'],
  ])('422 and no signature for a stored row with %s', async (_name, change) => {
    const { id, line } = await decided()
    expect(change(line)).not.toBe(line)
    await forgeRows(
      store.na,
      `update evidence_entries set line = '${change(line).replaceAll("'", "''")}' where entry_kind = 'decision'`,
    )
    const answer = await post({ decision_id: id })
    refused(answer, 422, 'evidence_invalid_signature')
    expect(answer.text).not.toContain('payload')
    expect(await eventsOf(store.na, answer)).toEqual([])
  })

  it('404 while the store is off', async () => {
    const na = await startTestAuthority()
    try {
      refused(await na.as('standard')('POST', PATH, { decision_id: 'd' }), 404, 'evidence_store_disabled')
    } finally {
      await na.stop()
    }
  })
})
