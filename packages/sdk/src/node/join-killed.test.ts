import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestAuthority, createInvite, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FileNodeStore } from '../nodejs/index.ts'
import { JoinInterruptedError } from './enroll.ts'
import { type StartOptions, startNode } from '../testing/started-node.suite.ts'

let na: TestAuthority
let folder: string
let invite: string
beforeEach(async () => {
  na = await startTestAuthority({ backend: 'sqlite' })
  folder = await mkdtemp(join(tmpdir(), 'chancery-join-'))
  invite = await createInvite(na)
})
afterEach(async () => {
  await na.stop()
  await rm(folder, { recursive: true, force: true })
})

const options = (more: Partial<StartOptions> = {}): StartOptions => ({
  url: na.url,
  genesis: na.genesis,
  store: new FileNodeStore(folder),
  invite,
  ...more,
})

/** A program that joins and is killed with signal 9 before or after the authority has answered. */
async function joinAndDie(moment: 'before' | 'after'): Promise<void> {
  const program = `
    import { joinNetwork } from '@chancery/sdk'
    import { FileNodeStore } from '@chancery/sdk/nodejs'
    const die = () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}) }
    const { url, genesis, folder, invite, moment } = JSON.parse(process.env.TASK)
    const store = new FileNodeStore(folder)
    const write = store.write.bind(store)
    store.write = (name, text) => (name === 'certificate' ? die() : write(name, text))
    const fetch = (...call) => (moment === 'before' && call[0].endsWith('/join') ? die() : globalThis.fetch(...call))
    await joinNetwork({ url, genesis, store, invite, fetch })`
  const task = { url: na.url, genesis: na.genesis, folder, invite, moment }
  const signal = await new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--conditions=development', '--input-type=module', '-e', program],
      { cwd: import.meta.dirname, env: { ...process.env, TASK: JSON.stringify(task) } },
      (error) => resolve(error?.signal ?? error?.message),
    )
  })
  expect(signal).toBe('SIGKILL')
  expect(await readdir(folder)).not.toContain('certificate.json')
}

async function issued(): Promise<{ cert_id: string; key: string; fingerprint: string }[]> {
  const events = (await na.auditEvents()).filter((event) => event['event_type'] === 'certificate_issued')
  return events.map(({ details }) => {
    const { cert_id, node_public_key, invite_token_fingerprint } = details as Record<string, string>
    return { cert_id: cert_id ?? '', key: node_public_key ?? '', fingerprint: invite_token_fingerprint ?? '' }
  })
}

it('killed before the invite arrives: the next run joins with it', async () => {
  await joinAndDie('before')
  const node = await startNode(options())
  await node.stop()
  expect(await issued()).toMatchObject([{ cert_id: node.certificate.cert_id, key: node.publicKey }])
})

it('killed before the certificate is stored: reports what to do, and both ways work', async () => {
  await joinAndDie('after')
  const [lost] = await issued()
  const error = await startNode(options()).then(
    () => undefined,
    (failure: unknown) => failure as JoinInterruptedError,
  )
  expect(error).toBeInstanceOf(JoinInterruptedError)
  // What it names is what the operator finds.
  expect(error).toMatchObject({ nodePublicKey: lost?.key, inviteFingerprint: lost?.fingerprint })
  expect(error?.message).not.toContain(invite)
  // It says the same however often it is started.
  await expect(startNode(options())).rejects.toThrow('Ask an operator for a new invite')

  const renewed = await startNode(options({ lostCertificate: lost?.cert_id ?? '' }))
  await renewed.stop()
  expect([renewed.publicKey, renewed.certificate.cert_id === lost?.cert_id]).toEqual([lost?.key, false])

  await rm(join(folder, 'certificate.json'))
  const joined = await startNode(options({ invite: await createInvite(na) }))
  await joined.stop()
  expect(joined.publicKey).toBe(lost?.key)
})

it('an invite that never was good is refused as such, however often', async () => {
  for (let run = 0; run < 2; run += 1)
    await expect(startNode(options({ invite: 'x'.repeat(43) }))).rejects.toMatchObject({ code: 'invalid_invite_token' })
})

it('a certificate of another key cannot be taken over', async () => {
  const other = await startNode(options({ store: new FileNodeStore(join(folder, 'other')) }))
  await other.stop()
  const { invite: _spent, ...without } = options({ lostCertificate: other.certificate.cert_id })
  await expect(startNode(without)).rejects.toMatchObject({ code: 'certificate_key_mismatch' })
})

it('waits while a proxy without an instance answers 503 with a page, and says when the invite may have been used', async () => {
  const page = async (): Promise<Response> =>
    new Response('<html><body><h1>503 Service Unavailable</h1></body></html>', { status: 503 })
  let answers = 2
  const pauses: number[] = []
  const sleep = async (ms: number): Promise<void> => void pauses.push(ms)
  const down: StartOptions['fetch'] = (url, init) => {
    if (!url.endsWith('/join') || answers === 0) return fetch(url, init)
    answers -= 1
    return page()
  }
  const node = await startNode(options({ fetch: down, sleep }))
  await node.stop()
  expect(pauses.slice(0, 2)).toEqual([1000, 2000])

  // The proxy passed the join on and lost the response.
  await rm(folder, { recursive: true, force: true })
  invite = await createInvite(na)
  let isLost = true
  const lost: StartOptions['fetch'] = async (url, init) => {
    const response = await fetch(url, init)
    if (!url.endsWith('/join') || !isLost) return response
    isLost = false
    return page()
  }
  await expect(startNode(options({ fetch: lost, sleep }))).rejects.toBeInstanceOf(JoinInterruptedError)
})
