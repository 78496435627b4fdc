import type { TestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Query } from '../database/database.ts'
import { rollBackAfter } from '../database/transaction.ts'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { type Inspection, inspectDatabase } from './inspect.ts'
import { startUsedAuthority } from './used-authority.suite.ts'
import { rowsOf } from '../testing/rows.suite.ts'

/** Checks of `chancery authority verify`. */
describe('inspectDatabase', () => {
  let na: TestAuthority
  const inspect = (db: Query): Promise<Inspection> =>
    inspectDatabase(
      db,
      { publicKeys: [na.genesis.network_authority.public_key], sovereign: na.genesis.network_name },
      inspectStore,
    )
  beforeAll(async () => {
    na = await startUsedAuthority()
  })
  afterAll(() => na.stop())

  it('finds no problem in what the authority wrote itself', async () => {
    const { counts, problems } = await inspect(rowsOf(na.core.database))
    expect(problems).toEqual([])
    expect(counts).toMatchObject({
      crl: 4,
      feed: 3,
      certificate: 3,
      policy: 2,
      attestation: 3,
      treaty: 2,
      'imported feed': 1,
      'recognition policy': 1,
      'data license': 1,
      'boundary policy': 2,
      'evidence anchor': 1,
    })
    // Three decisions, each with its justification.
    expect(counts['evidence entry']).toBe(6)
    expect(counts['audit event']).toBeGreaterThan(10)
  })

  it.each([
    [
      'an edited list',
      "update crl_versions set crl_json = replace(crl_json, 'unspecified', 'superseded') where sequence = 2",
      /^crl 2: its signature/,
    ],
    ['a missing list', 'delete from crl_versions where sequence = 2', /^crl 3: follows 1$/],
    [
      'a list with another sequence',
      'update crl_versions set sequence = 9 where sequence = 3',
      /^crl 9: says another number$/,
    ],
    [
      'a list that is cut',
      'update crl_versions set crl_json = substr(crl_json, 1, 50) where sequence = 1',
      /^crl 1: is not a record$/,
    ],
    [
      'an edited certificate',
      "update issued_certs set cert_json = replace(cert_json, 'role:client', 'role:anchor')",
      /^certificate \S+: its signature/,
    ],
    [
      'an edited policy',
      "update policy_versions set policy_json = replace(policy_json, 'two', 'six') where position = 2",
      /^policy 2: its signature/,
    ],
    ['no active policy', 'update policy_versions set active = 0', /^policy: 0 versions are active$/],
    [
      'an entry no list names',
      "insert into crl_entries (position, cert_id, entry_json, expires_at) values (99, 'stray', '{}', '2099')",
      /^crl: the entry stray/,
    ],
    [
      'a list that lacks a revocation',
      'delete from crl_entries where position = (select min(position) from crl_entries)',
      /^crl: the revoked certificate \S+ is not on the last list$/,
    ],
    ['a missing feed', 'update own_revocation_feeds set sequence = 9 where sequence = 2', /^feed 9: follows 1$/],
    [
      'a feed that no longer names a revocation',
      'update own_revocation_feeds set feed_json = (select feed_json from own_revocation_feeds where sequence = 1) where sequence = 2',
      /^attestation \S+: withdrawn, but not in the feed$/,
    ],
    [
      'a revoked attestation that is active again',
      "update membership_attestations set status = 'active', revoked_at = null, revocation_reason = null",
      /^feed: names attestation \S+, which is not withdrawn here$/,
    ],
    [
      'an edited attestation',
      "update membership_attestations set attestation_json = replace(attestation_json, 'role:client', 'role:anchor')",
      /^attestation \S+: its signature/,
    ],
    [
      'an attestation under the name of another subject',
      "update membership_attestations set subject_id = 'another'",
      /^attestation \S+: its subject_id is another$/,
    ],
    [
      'an edited treaty',
      "update recognition_treaties set treaty_json = replace(treaty_json, 'PARTNER', 'ANOTHER')",
      /^treaty \S+: its signature/,
    ],
    [
      'an incomplete revocation of a treaty',
      "update recognition_treaties set status = 'revoked'",
      /^treaty \S+: withdrawn by half$/,
    ],
    [
      'a revoked treaty made active',
      "update recognition_treaties set status = 'active', revoked_at = null, revocation_reason = null",
      /^treaty \S+: active, but revoked in the audit$/,
    ],
    [
      'a missing imported revocation',
      "delete from imported_sovereign_revocations where attestation_id = 'a-2'",
      /^imported feed PARTNER-NET 1: its revocation of a-2 is not stored$/,
    ],
    [
      'an edited boundary policy',
      'update boundary_policies set policy_json = replace(policy_json, \'"max":5\', \'"max":9\') where version = 2',
      /^boundary policy spending 2: policy_store_integrity_failed$/,
    ],
    [
      'a missing version of a boundary policy',
      'delete from boundary_policies where version = 1',
      /^boundary policy spending 2: follows 0$/,
    ],
    [
      'two boundary policies in force',
      'drop index boundary_policies_one_active; update boundary_policies set active = 1',
      /^boundary policy spending: 2 versions are active$/,
    ],
    [
      'an edited licence',
      "update data_license_policies set policy_json = replace(policy_json, 'src-1', 'src-2')",
      /^data license \S+: its signature/,
    ],
    ['no recognition policy in force', 'update recognition_policies set active = 0', /^recognition policy: 0 versions/],
    [
      'a wrong evidence head',
      'update evidence_head set last_sequence = last_sequence + 1',
      /^evidence 7: store_sequence_gap \(head\)$/,
    ],
    [
      'an edited anchor',
      "update evidence_anchors set anchor_json = replace(anchor_json, 'TEST-NET', 'REST-NET')",
      /^evidence \S+: anchor_/,
    ],
    [
      'an anchor that is cut',
      'update evidence_anchors set anchor_json = substr(anchor_json, 1, 9)',
      /^evidence \S+: anchor_invalid_signature/,
    ],
    [
      'an audit event under another id',
      'update audit_events set event_json = \'{"event_id":"x"}\' where event_type = \'invite_created\'',
      /^audit event \S+: is another one$/,
    ],
  ])('finds %s', async (_what, statement, problem) => {
    // Rolled back afterwards, so that all tests use the same data.
    const { problems } = await rollBackAfter(rowsOf(na.core.database), async (tx) => {
      for (const one of statement.split('; ')) await sql.raw(one).execute(tx)
      return inspect(tx)
    })
    expect(
      problems.some((line) => problem.test(line)),
      problems.join('\n'),
    ).toBe(true)
  })
})
