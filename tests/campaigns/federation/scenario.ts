import { systemClock } from '@chancery/service-kit'
import { type Backend, type FaultProxy, ManualClock, startFaultProxy } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { Sovereign } from './sovereign.ts'

/** How a partner is reached: not at all, or with a cut after some bytes. */
export type LinkState = 'open' | 'cut' | 'breaking'

/** The network between two authorities, in one direction. */
export class Link {
  readonly proxy: FaultProxy
  state: LinkState = 'open'

  constructor(proxy: FaultProxy) {
    this.proxy = proxy
  }

  get url(): string {
    return `http://127.0.0.1:${this.proxy.port}`
  }

  /** Each connection of a breaking link ends after some pieces of the response. */
  change(state: LinkState, random: Random): void {
    this.state = state
    this.proxy.isolate(state === 'cut')
    const pieces = new Map<number, number>()
    const breakAt = 1 + random.below(3)
    this.proxy.decide = (direction, _piece, link) => {
      if (state !== 'breaking' || direction === 'to-server') return 'pass'
      const seen = (pieces.get(link) ?? 0) + 1
      pieces.set(link, seen)
      return seen >= breakAt && link % 3 === 0 ? 'cut' : 'pass'
    }
  }
}

/** A few sovereigns, the links between them, one clock, and what was found to be wrong. */
export class Scenario {
  readonly clock: ManualClock = new ManualClock(systemClock.now())
  readonly sovereigns: Sovereign[] = []
  readonly found: string[] = []
  /** After a few, a scenario has shown enough. */
  get isBroken(): boolean {
    return this.found.length >= 10
  }
  readonly random: Random
  readonly #links = new Map<string, Link>()

  private constructor(random: Random) {
    this.random = random
  }

  static async open(random: Random, backend: Backend): Promise<Scenario> {
    const scenario = new Scenario(random)
    const count = 3 + random.below(5)
    for (let i = 0; i < count; i += 1) {
      const maxFeedAge = random.pick([3600, 86_400, 86_400, 86_400])
      const name = `NET-${String.fromCharCode(65 + i)}`
      scenario.sovereigns.push(await Sovereign.open({ name, clock: scenario.clock, backend, maxFeedAge }))
    }
    for (const from of scenario.sovereigns)
      for (const to of scenario.sovereigns)
        if (from !== to) scenario.#links.set(`${from.name}>${to.name}`, new Link(await startFaultProxy(addressOf(to))))
    return scenario
  }

  link(from: Sovereign, to: Sovereign): Link {
    const link = this.#links.get(`${from.name}>${to.name}`)
    if (link === undefined) throw new Error(`no link from ${from.name} to ${to.name}`)
    return link
  }

  get links(): readonly Link[] {
    return [...this.#links.values()]
  }

  /** Two different ones. */
  pickTwo(): readonly [Sovereign, Sovereign] {
    const first = this.pickOne(this.sovereigns)
    return [first, this.pickOne(this.sovereigns.filter((one) => one !== first))]
  }

  pickOne<Item>(items: readonly Item[]): Item {
    const item = items[this.random.below(items.length)]
    if (item === undefined) throw new Error('nothing to choose from')
    return item
  }

  named(name: string): Sovereign {
    const one = this.sovereigns.find((each) => each.name === name)
    if (one === undefined) throw new Error(`there is no ${name}`)
    return one
  }

  /** An authority that was started again has another port. */
  reconnect(to: Sovereign): void {
    for (const from of this.sovereigns) if (from !== to) this.link(from, to).proxy.retarget(addressOf(to))
  }

  /** Time passes, and each feed is read, which signs a new version when it is old. */
  async advance(seconds: number): Promise<void> {
    this.clock.advance(seconds)
    for (const one of this.sovereigns) await this.checkFeed(one)
  }

  /** A feed lists every revoked attestation that is still valid, and no other one. */
  async checkFeed(one: Sovereign): Promise<void> {
    const { ids, sequence } = await one.readFeed()
    const revoked = one.attestations.filter(({ isRevoked }) => isRevoked)
    for (const { attestation_id, expires_at } of revoked)
      if (expires_at > this.clock.now() && !ids.has(attestation_id))
        this.found.push(`feed ${sequence} of ${one.name} lacks the revoked ${attestation_id}`)
    const known = new Set(revoked.map(({ attestation_id }) => attestation_id))
    for (const id of ids) if (!known.has(id)) this.found.push(`feed ${sequence} of ${one.name} lists ${id}`)
  }

  async close(): Promise<void> {
    await Promise.all(this.sovereigns.map((one) => one.close()))
    await Promise.all(this.links.map(({ proxy }) => proxy.close()))
  }
}

function addressOf({ url }: Sovereign): { readonly host: string; readonly port: number } {
  return { host: '127.0.0.1', port: Number(new URL(url).port) }
}
