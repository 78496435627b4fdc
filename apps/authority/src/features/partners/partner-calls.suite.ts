import type { JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, startTestAuthority } from '@chancery/testkit'
import type { ForeignObject, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll } from 'vitest'
import { isImportedRevocation } from '../revocation-feeds/index.ts'
import type { AlarmRow } from './queries/alarms.ts'
import { StubPartner } from './stub-partner.suite.ts'

/** Settings under which stubs on loopback may be partners. */
export const LOOPBACK = { NA_CLOCK_CHECK: 'off', NA_PARTNER_ADDRESSES: 'loopback' }

/** Starts an authority before the tests, and stops it and its stubs after them. */
export function openPartnerCalls(settings: Readonly<Record<string, string>> = {}): PartnerCalls {
  const clock = new ManualClock('2026-01-02T03:04:05Z')
  let na: TestAuthority
  const calls = new PartnerCalls(() => na, clock)
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings: { ...LOOPBACK, ...settings } })
  })
  afterAll(async () => {
    await na.stop()
    await calls.stop()
  })
  return calls
}

/** Stubs of one test file, and the calls of an operator about them. */
export class PartnerCalls {
  readonly #authority: () => TestAuthority
  readonly clock: ManualClock
  readonly #stubs: StubPartner[] = []

  constructor(authority: () => TestAuthority, clock: ManualClock) {
    this.#authority = authority
    this.clock = clock
  }

  get na(): TestAuthority {
    return this.#authority()
  }

  async newStub(name = `STUB-${this.#stubs.length + 1}`): Promise<StubPartner> {
    const stub = await new StubPartner(name, () => this.clock.now()).listen()
    this.#stubs.push(stub)
    return stub
  }

  /** A stub that is registered. */
  async newPartner(changes: JsonObject = {}): Promise<StubPartner> {
    const stub = await this.newStub()
    accepted(await this.admin('POST', '', requestOf(stub, changes)), 201)
    return stub
  }

  admin(method: 'GET' | 'POST', path: string, body: JsonObject = {}): Promise<TestResponse> {
    return this.na.as('privileged')(method, `/admin/partners${path}`, body)
  }

  /** After the shortest time between two pulls. */
  async pull(stub: StubPartner): Promise<JsonObject> {
    this.clock.advance(11)
    return accepted(await this.admin('POST', `/${stub.name}/pull`))
  }

  async show(stub: StubPartner): Promise<JsonObject> {
    return accepted(await this.admin('GET', `/${stub.name}`))
  }

  isRevoked(stub: StubPartner, id: string): Promise<boolean> {
    return isImportedRevocation(this.na.core.database.read, stub.name, id)
  }

  /** Alarms with the texts that no route shows, the newest first. */
  alarmTexts(stub: StubPartner): Promise<readonly AlarmRow[]> {
    return this.na.core.database.read
      .selectFrom('partner_alarms')
      .selectAll()
      .where('sovereign_id', '=', stub.name)
      .orderBy('raised_at', 'desc')
      .orderBy('alarm_id', 'desc')
      .execute()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stubs.map((stub) => stub.stop()))
  }
}

export function requestOf(stub: StubPartner, changes: JsonObject = {}): JsonObject {
  return {
    url: stub.url,
    root_public_key: stub.root.publicKey,
    allow_http: true,
    import_feeds: 'on',
    interval_seconds: 86_400,
    ...changes,
  }
}

/** A page of a treaty list. */
export function treatyRows(...treaties: readonly ForeignObject[]): ForeignObject {
  return { count: treaties.length, recognition_treaties: treaties.map((treaty) => ({ treaty, status: 'active' })) }
}
