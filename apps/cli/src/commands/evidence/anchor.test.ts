import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cp, readFile, readdir, writeFile } from 'node:fs/promises'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
let network = undefined as unknown as RealNetwork
/** The same authority, by name and key, with another past. */
let other = undefined as unknown as RealNetwork
beforeAll(async () => {
  ;[network, other] = [await openNetwork(SETTINGS), await openNetwork(SETTINGS)]
  for (let count = 0; count < 2; count += 1) {
    await decide(network)
    await save('kept')
  }
  for (let count = 0; count < 3; count += 1) {
    await decide(other)
    accepted(await other.na.as('standard')('POST', '/admin/evidence/anchors', {}), 201)
  }
  await network.asOperator(`evidence export --out other.jsonl --url ${other.na.url}`)
})
afterAll(async () => {
  await network.close()
  await other.close()
})

async function decide({ na }: RealNetwork): Promise<void> {
  const request = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await na.as('privileged')('POST', '/admin/attestations', request), 201)
  const asked = { attestation_id: attestation_id ?? null, requested_capability: 'secret.rotate' }
  accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
}

const save = (folder: string, flags = '') => network.asOperator(`evidence anchor --out ${folder} ${flags}`)
const verify = (folder: string) =>
  network.run(`verify other.jsonl --with ${folder} --genesis genesis.json --with keys.json`)

async function filesOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(network.setup.path(folder))).sort()
  const read = async (name: string) => [name, await readFile(network.setup.path(`${folder}/${name}`), 'utf8')] as const
  return Object.fromEntries(await Promise.all(names.map(read)))
}

const NAMES = ['anchor-00000001.json', 'anchor-00000002.json']

it('adds new anchors to the saved ones, which stay as they are', async () => {
  const before = await filesOf('kept')
  expect(Object.keys(before)).toEqual(NAMES)
  const again = await save('kept')
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('2 anchors saved in ./kept.')])
  expect(await filesOf('kept')).toEqual(before)
})

it('keeps the anchors of a rewritten store as a fork, and verifies nothing with the folder from then on', async () => {
  await cp(network.setup.path('kept'), network.setup.path('forked'), { recursive: true })
  const before = await filesOf('forked')
  for (let run = 0; run < 2; run += 1) {
    const { code, stderr } = await save('forked', `--url ${other.na.url}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('THE STORE WAS REWRITTEN')])
    expect(stderr).toContain('another history than ./forked has, from anchor 1 on')
    const after = await filesOf('forked')
    expect(after).toMatchObject(before)
    expect(Object.keys(after).filter((name) => name.includes('.fork-'))).toHaveLength(3)
  }
  // Not silent when the first history is back.
  expect((await save('forked')).code).toBe(1)
  await writeFile(network.setup.path('keys.json'), '{"executor_keys":[]}')
  const { code, stderr } = await verify('forked')
  expect([code, stderr]).toEqual([1, expect.stringContaining('Two contents of anchor 1 are in ./forked')])
})

it('refuses a store that has lost anchors', async () => {
  await cp(network.setup.path('kept'), network.setup.path('longer'), { recursive: true })
  await decide(network)
  await save('longer')
  await behind(
    (text) => {
      const page = JSON.parse(text) as { anchors?: readonly unknown[] }
      return page.anchors === undefined
        ? text
        : JSON.stringify({ ...page, anchors: page.anchors.slice(0, 2), next_after_anchor: null })
    },
    async (url) => {
      const { code, stderr } = await save('longer', `--url ${url}`)
      expect([code, stderr]).toEqual([1, expect.stringContaining('./longer has anchor 3')])
    },
  )
})

it('does not call a store rewritten for a file of the folder that the authority did not sign', async () => {
  await cp(network.setup.path('kept'), network.setup.path('planted'), { recursive: true })
  const { [NAMES[1] ?? '']: text = '' } = await filesOf('planted')
  const planted = text.replace(/("entry_digest":\s*")[0-9a-f]{4}/, '$10000')
  await writeFile(network.setup.path('planted/anchor.json'), planted)
  const before = await filesOf('planted')
  const { code, stderr } = await save('planted')
  expect([code, stderr]).toEqual([1, expect.stringContaining('planted/anchor.json has an anchor that the pinned')])
  expect(stderr).not.toContain('REWRITTEN')
  expect(await filesOf('planted')).toEqual(before)
})

it('saves nothing that the pinned authority did not sign', async () => {
  const forge = (text: string): string => text.replace(/("entry_digest":\s*")[0-9a-f]{4}/g, '$10000')
  await behind(forge, async (url) => {
    const { code, stderr } = await save('forged', `--url ${url}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('an anchor that does not verify')])
    await expect(filesOf('forged')).rejects.toThrow('ENOENT')
  })
})

/** The authority behind a proxy that changes its answers. */
async function behind(edit: (text: string) => string, use: (url: string) => Promise<void>): Promise<void> {
  const proxy = createServer((request, response) => {
    const chunks: Uint8Array[] = []
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    request.on('end', () => {
      const { method = 'GET', headers, url = '' } = request
      const sent = { method, headers: headers as Record<string, string>, body: Buffer.concat(chunks) }
      void forward(network.na.url + url, sent).then(({ status, text }) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(edit(text)),
      )
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  try {
    await use(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
  } finally {
    proxy.close()
  }
}

async function forward(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: Uint8Array<ArrayBuffer> },
): Promise<{ status: number; text: string }> {
  const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers
  const answer = await fetch(url, { method, headers: rest, ...(body.length === 0 ? {} : { body }) })
  return { status: answer.status, text: await answer.text() }
}

it('needs a pinned authority to save', async () => {
  const line = `evidence anchor --out unpinned --url ${network.na.url} --operator-key privileged.key`
  const { code, stderr } = await network.run(line)
  expect([code, stderr]).toEqual([2, expect.stringContaining('no genesis block pins the authority')])
})
