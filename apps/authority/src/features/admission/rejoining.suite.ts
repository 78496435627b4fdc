import { type JoinCertificate, type JsonObject, writeSortable } from '@chancery/protocol'
import {
  ManualClock,
  type NodeCaller,
  type TestAuthority,
  type TestResponse,
  accepted,
  enroll,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { presented } from '../../database/migrations/0052-presented.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const LIMITS = { NA_RATE_LIMIT_JOIN_PER_MINUTE: '10000', NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '10000' }

/** An authority for one test file and, for each test, a node with a certificate of ten hours. */
export class Rejoining {
  readonly clock = new ManualClock()
  na!: TestAuthority
  node!: NodeCaller
  last!: JoinCertificate
  #rules = 0

  /** Each test file calls this itself: hooks of a shared module would run for the first file only. */
  static inThisFile(): Rejoining {
    const one = new Rejoining()
    beforeAll(async () => {
      one.na = await startTestAuthority({ clock: one.clock, settings: { NA_CLOCK_CHECK: 'off', ...LIMITS } })
      await one.setUpgrade(writeSortable(one.clock.now()))
    })
    afterAll(() => one.na.stop())
    beforeEach(async () => {
      one.node = await newNodeCaller(one.na.url, 'again', one.clock)
      const invite = { roles: ['role:client'], max_validity_hours: 30 }
      one.last = await enroll(one.na, one.node, invite, { validity_hours: 10 })
    })
    return one
  }

  /** Test databases are made by the clock of the system, which is ahead of this one. */
  async setUpgrade(applied_at: string): Promise<void> {
    const table = rowsOf(this.na.core.database).updateTable('schema_version')
    await table.set({ applied_at }).where('version', '=', presented.version).execute()
  }

  terms(members: JsonObject = {}): JsonObject {
    this.#rules += 1
    const roles = ['role:client', 'role:service']
    return { rule_id: `again-${this.#rules}`, kind: 'expired_certificate', grace_hours: 72, roles, ...members }
  }

  addRule(members: JsonObject = {}): Promise<TestResponse> {
    return this.na.as('privileged')('POST', '/admin/admission-rules', this.terms(members))
  }

  async newRule(members: JsonObject = {}): Promise<string> {
    return String((accepted(await this.addRule(members), 201)['rule'] as JsonObject)['rule_id'])
  }

  rejoin(rule_id: string, certificate: JsonObject | string, from = this.node): Promise<TestResponse> {
    const token = typeof certificate === 'string' ? certificate : JSON.stringify(certificate)
    return from.post('/join', { evidence: { rule_id, token }, validity_hours: 48 })
  }

  revoke(cert_id: string, reason: string): Promise<TestResponse> {
    return this.na.as('privileged')('POST', '/admin/revoke', { cert_id, reason })
  }
}

export function expectReason(answer: TestResponse, reason: string): void {
  expect(refused(answer, 403, 'evidence_refused')['details']).toEqual({ reason })
}
