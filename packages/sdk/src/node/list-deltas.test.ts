import {
  CompactCrl,
  asJson,
  canonicalJson,
  changeBetween,
  listDeltaText,
  readCrl,
  readJson,
  seconds,
  toUtf8,
  writeJson,
} from '@chancery/protocol'
import type { Crl, Instant } from '@chancery/protocol'
import { ManualClock, testIssuer, testList } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import type { Client } from '../client.ts'
import type { NodeEvent } from './events.ts'
import { type FollowedKeys, MemoryNodeStore } from './followed.ts'
import { NodeLists } from './lists.ts'

const NOW = new ManualClock('2026-03-01T12:00:00Z').now()
const by = await testIssuer('agency')

describe('a large list that changes', () => {
  const IDS = Array.from({ length: 600 }, (_, n) => `cert-${n}`)
  const other = testIssuer('elsewhere')

  async function large(sequence: number, ids: readonly string[], issuer = by): Promise<Crl> {
    const entries = ids.map((certificate_id) => ({ certificate_id, revoked_at: '2026-01-02T03:04:05Z' }))
    return readCrl(asJson(await testList(issuer, NOW, { sequence, issuedAgo: seconds(100 - sequence), entries })))
  }

  function deltaOf(from: Crl, to: Crl): string {
    const [before, after] = [from, to].map((each) => each.revoked_certificates.map((entry) => canonicalJson(entry)))
    return listDeltaText(from.sequence, to, changeBetween(before ?? [], after ?? []))
  }

  /** Follows a first list, then a second one for which the authority gives this delta. */
  async function followDelta(
    second: Crl,
    delta: (first: Crl) => string | undefined | Promise<string>,
    later: Instant = 0n,
  ) {
    let now = NOW
    const first = await large(5, IDS)
    const asked: string[] = []
    let current = first
    const client = {
      crl: {
        compact: async () => {
          asked.push('full')
          return CompactCrl.read(toUtf8(writeJson(current)))
        },
        delta: async (from: number, issuer: string) => {
          asked.push(`delta from ${from} of ${issuer}`)
          const text = await delta(first)
          return text === undefined ? undefined : toUtf8(text)
        },
      },
    } as unknown as Client
    const key = by.signer.publicKey
    const followed = { at: () => [key], current: key, audience: key } as unknown as FollowedKeys
    const signal = new AbortController().signal
    const store = new MemoryNodeStore()
    const refused: string[] = []
    const emit = (event: NodeEvent): void => {
      if (event.type !== 'list_refused') return
      const { reason } = event
      refused.push(reason)
    }
    const settings = { emit, followsCrl: true }
    const parts = { client, store, followed, settings, clock: () => now, signal }
    const lists = await NodeLists.open(parts)
    for (const each of [first, second]) {
      current = each
      await lists.followCrl({ crl_sequence: each.sequence } as Parameters<NodeLists['followCrl']>[0])
      now += later
    }
    expect(readCrl(readJson((await store.read('crl')) ?? '', LARGE))).toEqual(lists.crl && { ...lists.crl })
    return {
      asked,
      sequence: lists.crl?.sequence,
      isListed: lists.entryOf('cert-new') !== undefined,
      ...(refused.length === 0 ? {} : { refused }),
    }
  }
  const LARGE = { maxDepth: 8, maxValues: 1_000_000, maxNames: 16 }

  it('is read as the change', async () => {
    const second = await large(8, [...IDS.slice(2), 'cert-new'])
    expect(await followDelta(second, (first) => deltaOf(first, second))).toEqual({
      asked: ['full', 'delta from 5 of na-main'],
      sequence: 8,
      isListed: true,
    })
  })

  it.each<[string, (first: Crl, second: Crl) => string | undefined | Promise<string>]>([
    ['there is none', () => undefined],
    ['the authority fails', () => Promise.reject(new TypeError('fetch failed'))],
    ['it is cut', (first, second) => deltaOf(first, second).slice(0, -9)],
    ['it is of another base', async (_first, second) => deltaOf(await large(6, IDS), second)],
    [
      'an entry is missing',
      (first, second) => deltaOf(first, { ...second, revoked_certificates: first.revoked_certificates }),
    ],
    ['another key signed it', async (first) => deltaOf(first, await large(9, [], await other))],
    ['it leads back', async (first) => deltaOf(first, await large(4, IDS))],
  ])('is read in full when %s', async (_name, make) => {
    const second = await large(8, [...IDS, 'cert-new'])
    expect(await followDelta(second, (first) => make(first, second))).toEqual({
      asked: ['full', 'delta from 5 of na-main', 'full'],
      sequence: 8,
      isListed: true,
    })
  })

  it('is reported when two lists are signed under one number', async () => {
    // Asked for although its number is announced: the held list is over.
    const second = await large(5, IDS.slice(1))
    const outcome = await followDelta(second, (first) => deltaOf(first, second), seconds(90_000))
    expect(outcome).toMatchObject({ sequence: 5, isListed: false, refused: ['equivocation'] })
    expect(outcome.asked).toEqual(['full', 'delta from 5 of na-main'])
  })
})
