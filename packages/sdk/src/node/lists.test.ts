// oxlint-disable max-lines -- one list after the other, against the same node
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  asJson,
  CompactCrl,
  DAY,
  defaultPolicyTerms,
  draftPolicyManifest,
  readCrl,
  readInstant,
  readJson,
  signList,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Crl, Instant, PolicyManifest } from '@chancery/protocol'
import { testIssuer, testList } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import type { Client } from '../client.ts'
import type { NodeEvent } from './events.ts'
import { type FollowedKeys, MemoryNodeStore, type NodeStore } from './followed.ts'
import { NodeLists } from './lists.ts'
import { FileNodeStore } from '../nodejs/file-node-store.ts'

const NOW = readInstant('2026-03-01T12:00:00Z') ?? 0n
const by = await testIssuer('agency')

/** A list of this number, dated so far from now. */
async function list(sequence: number, away: Instant): Promise<Crl> {
  return readCrl(asJson(await testList(by, NOW, { sequence, issuedAgo: -away })))
}

function serving(current: () => Crl | undefined): Client {
  const compact = () => Promise.resolve(CompactCrl.read(toUtf8(writeJson(current() ?? null))))
  return { crl: { compact } } as unknown as Client
}

/** Follows the given lists; returns the sequence of the stored list, and the reasons of refusals. */
async function follow(
  offered: readonly Crl[],
): Promise<{ readonly stored: number | undefined; readonly refused: unknown[] }> {
  const { stored, refused } = await followAll(offered)
  return { stored, refused }
}

async function followAll(
  offered: readonly Crl[],
): Promise<{ readonly stored: number | undefined; readonly refused: unknown[]; readonly lists: NodeLists }> {
  const refused: unknown[] = []
  const emit = (event: NodeEvent): void => {
    if (event.type !== 'list_refused') return
    const { reason, offered: number } = event
    refused.push([reason, number])
  }
  let current = offered[0]
  const client = serving(() => current)
  const signal = new AbortController().signal
  const parts = {
    client,
    store: new MemoryNodeStore(),
    followed: {
      at: () => [by.signer.publicKey],
      current: by.signer.publicKey,
      audience: by.signer.publicKey,
    } as unknown as FollowedKeys,
    settings: { emit, followsCrl: true },
    clock: () => NOW,
    signal,
  }
  const lists = await NodeLists.open(parts)
  for (const each of offered) {
    current = each
    await lists.followCrl({ crl_sequence: each.sequence } as Parameters<NodeLists['followCrl']>[0])
  }
  return { stored: lists.crl?.sequence, refused, lists }
}

describe('the list a node holds', () => {
  it('is replaced by the next one, and not by one that is dated back', async () => {
    expect(await follow([await list(1, 0n), await list(2, 1_000_000n)])).toEqual({ stored: 2, refused: [] })
    const back = await follow([await list(1, 0n), await list(2, -1_000_000n)])
    expect(back).toEqual({ stored: 1, refused: [['rollback', 2]] })
  })

  it('is taken for what it withdraws when a clock dated it ahead, and gives way to the next by the right one', async () => {
    const ahead = [await list(1, 0n), await list(2, 40n * DAY), await list(3, 0n)]
    expect(await follow(ahead)).toEqual({ stored: 3, refused: [] })
  })

  it('is replaced by one that was signed again under its number when its time is over', async () => {
    const old = await list(1, -2n * DAY)
    const again = await list(1, 0n)
    const { stored, lists } = await followAll([old, again])
    expect([stored, lists.crl?.issued_at]).toEqual([1, again.issued_at])
  })

  it('never goes back to a lower number, however it is dated', async () => {
    const ahead = [await list(2, 40n * DAY), await list(1, 0n)]
    expect(await follow(ahead)).toEqual({ stored: 2, refused: [['rollback', 1]] })
  })
})

it('uses the key that signed the stored list, also when the earlier run was killed between the two', async () => {
  const store = new MemoryNodeStore()
  await store.write('crl', writeJson(await list(1, 0n)))
  const addressed: string[] = []
  const followed = {
    at: () => [by.signer.publicKey],
    current: by.signer.publicKey,
    audience: 'the key before',
    address: (key: string) => addressed.push(key),
    save: () => Promise.resolve(),
  } as unknown as FollowedKeys
  const signal = new AbortController().signal
  const client = {} as Client
  await NodeLists.open({
    client,
    store,
    followed,
    settings: { emit: () => undefined, followsCrl: true },
    clock: () => NOW,
    signal,
  })
  expect(addressed).toEqual([by.signer.publicKey])
})

it('is of the current key once one was: a former key still signs a list that leaves out what it did not issue', async () => {
  const former = await testIssuer('agency', 'na-former')
  const sign = async (issuer: typeof by, sequence: number): Promise<Crl> =>
    readCrl(asJson(await testList(issuer, NOW, { sequence, issuedAgo: 0n })))
  const refused: unknown[] = []
  const emit = (event: NodeEvent): void => {
    if (event.type !== 'list_refused') return
    const { reason, offered } = event
    refused.push([reason, offered])
  }
  let offered = await sign(former, 1)
  let current = by.signer.publicKey
  const followed = {
    at: () => [by.signer.publicKey, former.signer.publicKey],
    get current() {
      return current
    },
    audience: by.signer.publicKey,
    address: () => undefined,
    save: () => Promise.resolve(),
  } as unknown as FollowedKeys
  const client = serving(() => offered)
  const signal = new AbortController().signal
  const store = new MemoryNodeStore()
  const settings = { emit, followsCrl: true }
  let lists = await NodeLists.open({ client, store, followed, settings, clock: () => NOW, signal })
  const offer = async (issuer: typeof by, sequence: number): Promise<number | undefined> => {
    offered = await sign(issuer, sequence)
    await lists.followCrl({ crl_sequence: sequence } as Parameters<NodeLists['followCrl']>[0])
    return lists.crl?.sequence
  }
  expect([await offer(former, 1), await offer(former, 2), await offer(by, 3)]).toEqual([1, 2, 3])
  expect([await offer(former, 4), refused]).toEqual([3, [['not_signed', 4]]])
  // The same after a restart.
  lists = await NodeLists.open({ client, store, followed, settings, clock: () => NOW, signal })
  expect([await offer(former, 5), await offer(by, 5)]).toEqual([3, 5])
  // The way back: the root names the former one as current again.
  current = former.signer.publicKey
  expect([await offer(former, 6), await offer(by, 7)]).toEqual([6, 6])
  // Another succession, which is taken back while the new key signs: its lists count until the switch back.
  current = by.signer.publicKey
  expect(await offer(by, 8)).toBe(8)
  current = former.signer.publicKey
  expect([await offer(by, 9), await offer(former, 10), await offer(by, 11)]).toEqual([9, 10, 10])
})

describe('the policy a node holds', () => {
  it('is not replaced by one of a former key once the current key signs, also after a restart', async () => {
    const former = await testIssuer('agency', 'na-former')
    const refused: unknown[] = []
    const emit = (event: NodeEvent): void => {
      if (event.type !== 'list_refused') return
      const { list: which, reason } = event
      refused.push([which, reason])
    }
    const sign = (issuer: typeof by, policy_id: string, away: Instant): Promise<PolicyManifest> =>
      signList(
        draftPolicyManifest({
          policy_id,
          issued_at: writeInstant(NOW + away),
          issued_by: issuer.signer.keyId,
          terms: defaultPolicyTerms(),
        }),
        issuer.signer,
      )
    let offered = await sign(former, 'first', -DAY)
    let current = by.signer.publicKey
    let validFrom = NOW - 3n * DAY
    const followed = {
      at: () => [by.signer.publicKey, former.signer.publicKey],
      get current() {
        return current
      },
      get keys() {
        return { genesis: { network_authority: { valid_from: writeInstant(validFrom) } } }
      },
      audience: by.signer.publicKey,
    } as unknown as FollowedKeys
    const client = { policy: { current: () => Promise.resolve(offered) } } as unknown as Client
    const parts = {
      client,
      store: new MemoryNodeStore(),
      followed,
      settings: { emit, followsCrl: true },
      clock: () => NOW,
      signal: new AbortController().signal,
    }
    let lists = await NodeLists.open(parts)
    const offer = async (issuer: typeof by, policy_id: string, away: Instant): Promise<string | undefined> => {
      offered = await sign(issuer, policy_id, away)
      await lists.followPolicy({ policy_id } as Parameters<NodeLists['followPolicy']>[0])
      return lists.policy?.policy_id
    }
    // Before the switch the former key signs, and may bring an older version back.
    expect(await offer(former, 'second', -DAY)).toBe('second')
    expect(await offer(former, 'first', -2n * DAY)).toBe('first')
    expect(await offer(by, 'third', 0n)).toBe('third')
    expect(await offer(former, 'second', -DAY)).toBe('third')
    expect(refused).toEqual([['policy', 'rollback']])
    lists = await NodeLists.open(parts)
    expect(await offer(former, 'first', -2n * DAY)).toBe('third')
    // The current key may bring an older version back.
    expect(await offer(by, 'second', -1000n)).toBe('second')
    // An undone succession: the key that is current again signs nothing before the switch back.
    current = former.signer.publicKey
    expect(await offer(former, 'first', -2n * DAY)).toBe('first')
    validFrom = NOW - 1000n
    expect(await offer(by, 'fourth', 0n)).toBe('fourth')
    expect(await offer(former, 'fifth', 0n)).toBe('fifth')
    expect(await offer(by, 'fourth', 0n)).toBe('fifth')
  })

  it('is not replaced by one of a former key when the list is of the current one', async () => {
    const former = await testIssuer('agency', 'na-former')
    const refused: unknown[] = []
    const emit = (event: NodeEvent): void => {
      if (event.type !== 'list_refused') return
      const { list: which, reason } = event
      refused.push([which, reason])
    }
    const terms = defaultPolicyTerms()
    const old = draftPolicyManifest({ policy_id: 'old', issued_at: writeInstant(NOW - DAY), issued_by: 'x', terms })
    const offered = await signList(old, former.signer)
    const store = new MemoryNodeStore()
    await store.write('crl', writeJson(await list(1, 0n)))
    const lists = await NodeLists.open({
      client: { policy: { current: () => Promise.resolve(offered) } } as unknown as Client,
      store,
      followed: {
        at: () => [by.signer.publicKey, former.signer.publicKey],
        current: by.signer.publicKey,
        audience: by.signer.publicKey,
      } as unknown as FollowedKeys,
      settings: { emit, followsCrl: true },
      clock: () => NOW,
      signal: new AbortController().signal,
    })
    await lists.followPolicy({ policy_id: 'old' } as Parameters<NodeLists['followPolicy']>[0])
    expect([lists.policy, refused]).toEqual([undefined, [['policy', 'rollback']]])
  })
})

it('goes on from a list that a store took as bytes, and from one that it took as a text', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-lists-'))
  try {
    const files = new FileNodeStore(folder)
    const memory = new MemoryNodeStore()
    const texts: NodeStore = {
      signer: () => memory.signer(),
      read: (document) => memory.read(document),
      write: (document, text) => memory.write(document, text),
    }
    for (const store of [files, texts, new MemoryNodeStore()]) {
      const offered = await list(3, 0n)
      const key = by.signer.publicKey
      const parts = {
        client: serving(() => offered),
        store,
        followed: { at: () => [key], current: key, audience: key } as unknown as FollowedKeys,
        settings: { emit: () => undefined, followsCrl: true },
        clock: () => NOW,
        signal: new AbortController().signal,
      }
      const lists = await NodeLists.open(parts)
      await lists.followCrl({ crl_sequence: 3 } as Parameters<NodeLists['followCrl']>[0])
      expect((await NodeLists.open(parts)).crl).toEqual(offered)
      expect(readCrl(readJson((await store.read('crl')) ?? ''))).toEqual(offered)
      await store.write('crl', '{"crl_id":')
      expect((await NodeLists.open(parts)).crl).toBe(undefined)
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})
