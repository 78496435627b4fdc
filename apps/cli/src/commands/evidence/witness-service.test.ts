import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cosignedAt, readNote, sha256, sha256Hex, signCheckpoint, toUtf8, writeAddCheckpoint } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWitnessServer, stopServer } from './witness-listen.ts'
import { type WitnessEvent, WitnessService } from './witness-service.ts'
import { WitnessStore } from './witness-store.ts'

const ORIGIN = 'log.example/evidence-log'
const SECONDS = 1_900_000_000
const events: WitnessEvent[] = []
let [folder, url] = ['', '']
let log: Signer
let witness: Signer
let store: WitnessStore
let server: ReturnType<typeof createWitnessServer>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-witness-'))
  log = await testSigner('log', 'log')
  witness = await testSigner('witness.example', 'witness')
  store = await WitnessStore.open(folder, true)
  const service = new WitnessService({
    store,
    signer: witness,
    logs: [{ name: ORIGIN, publicKey: log.publicKey }],
    unixSeconds: () => SECONDS,
    report: (event) => events.push(event),
  })
  server = createWitnessServer(service, (error) => {
    throw error
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await stopServer(server)
  store.close()
  await rm(folder, { recursive: true })
})

const post = (body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
  fetch(`${url}/add-checkpoint`, { method: 'POST', body })
/** A log of one entry, or of none, so that no proof is needed. */
const ask = async (size: number, root: Uint8Array, old = 0, by = log, origin = ORIGIN): Promise<Response> =>
  post(writeAddCheckpoint({ oldSize: old, proof: [], checkpoint: await signCheckpoint({ origin, size, root }, by) }))
const ROOT = sha256(toUtf8('one'))

it('answers with its cosignature after the checkpoint is stored, and again for the same tree', async () => {
  const digest = sha256Hex(toUtf8(ORIGIN))
  expect((await fetch(`${url}/${digest}/checkpoint`)).status).toBe(404)
  for (const old of [0, 1]) {
    const answer = await ask(1, ROOT, old)
    expect(answer.status).toBe(200)
    const stored = store.last(ORIGIN)
    expect(stored?.size).toBe(1)
    const [text = ''] = stored?.note.split('\n\n') ?? []
    const note = readNote(`${text}\n\n${await answer.text()}`)
    expect(note?.signatures).toHaveLength(1)
    expect(note === undefined ? undefined : await cosignedAt(note, 'witness.example', witness.publicKey)).toBe(SECONDS)
  }
  expect(await (await fetch(`${url}/${digest}/checkpoint`)).text()).toBe(store.last(ORIGIN)?.note)
  expect(events).toEqual([{ event: 'cosigned', origin: ORIGIN, size: 1, known_size: 0 }])
})

it('names the size it has, and stores a second history of this size as evidence, once', async () => {
  const forked = await ask(1, sha256(toUtf8('other')), 1)
  expect([forked.status, forked.headers.get('content-type'), await forked.text()]).toEqual([
    409,
    'text/x.tlog.size',
    '1\n',
  ])
  await ask(1, sha256(toUtf8('other')), 1)
  expect(store.contradictions(ORIGIN)).toHaveLength(1)
  expect(events.filter(({ event }) => event === 'forked')).toHaveLength(1)
  expect((await ask(2, ROOT, 0)).status).toBe(409)
  expect((await ask(2, ROOT, 1)).status).toBe(422)
  expect(store.last(ORIGIN)?.size).toBe(1)
})

it('refuses other logs, other keys, and requests that are malformed or too long', async () => {
  expect((await ask(1, ROOT, 0, log, 'other.example')).status).toBe(404)
  expect((await ask(1, ROOT, 0, witness)).status).toBe(403)
  expect((await ask(1, ROOT, 2)).status).toBe(400)
  expect((await post('old 1\n')).status).toBe(400)
  expect((await post('x'.repeat(40_000))).status).toBe(413)
  expect((await post(Uint8Array.of(0xff, 0xfe))).status).toBe(413)
  expect((await fetch(`${url}/add-checkpoint`)).status).toBe(404)
  expect((await fetch(`${url}/${'0'.repeat(64)}/checkpoint`)).status).toBe(404)
})

it('a store compares before it changes, also between two processes', async () => {
  const other = await WitnessStore.open(folder, false)
  const head = { origin: 'two.example', size: 3, root: ROOT, note: 'three' }
  expect(store.advance(undefined, head)).toBe(true)
  expect(other.advance(undefined, { ...head, size: 4 })).toBe(false)
  expect(other.advance({ ...head, root: sha256(ROOT) }, { ...head, size: 4 })).toBe(false)
  expect(other.advance(head, { ...head, size: 4 })).toBe(true)
  expect(store.advance(head, { ...head, size: 5 })).toBe(false)
  expect(store.last('two.example')?.size).toBe(4)
  other.close()
  await expect(WitnessStore.open(folder, true)).rejects.toMatchObject({ code: 'file_exists' })
  await expect(WitnessStore.open(join(folder, 'none'), false)).rejects.toMatchObject({ code: 'no_state' })
})

it('answers while many requests have only a part of their body', async () => {
  const { port } = server.address() as AddressInfo
  const head = 'POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 100\r\n\r\n1'
  const stalled = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      await new Promise((resolve) => socket.write(head, resolve))
      return socket
    }),
  )
  try {
    expect((await fetch(`${url}/${'0'.repeat(64)}/checkpoint`)).status).toBe(404)
    expect((await ask(1, ROOT, 1)).status).toBe(200)
  } finally {
    for (const socket of stalled) socket.destroy()
  }
})
