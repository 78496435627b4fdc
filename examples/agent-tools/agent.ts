/**
 * The agent of NORTHWIND. It sends one MCP request to HARBOUR and prints what a language model would read.
 *
 *   node agent.ts                    lists the tools
 *   node agent.ts read_note todo     calls a tool
 *
 *   NODE_HOME     folder of its node, which `chancery join` wrote
 *   ATTESTATION   what NORTHWIND attests about it
 *   TOOLS         address of the tools, which is also their audience
 *   EXPECT        status to wait for: repeats the request every second, for at most 60 seconds
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, createSigningFetch } from '@chancery/sdk'
import { createMcpFetch } from '@chancery/sdk/mcp'
import { readSignerFile } from '@chancery/sdk/nodejs'
import { readAttestation, readJoinCertificate } from '@chancery/sdk/protocol'

const { NODE_HOME = 'agent', ATTESTATION = 'agent.json', TOOLS = 'http://127.0.0.1:8000', EXPECT } = process.env
const [, , tool, name] = process.argv

// Not JSON.parse: it changes the form of numbers, which is part of a signed record.
const read = async (file: string) => readJson(await readFile(file, 'utf8'))
const identity = {
  signer: await readSignerFile(`${NODE_HOME}/node.key`),
  certificate: readJoinCertificate(await read(`${NODE_HOME}/certificate.json`)),
  attestation: readAttestation(await read(ATTESTATION)),
}
// Signs every request. A client of the official packages takes the same function: `{ fetch: call }`.
const call = createMcpFetch(`${TOOLS}/mcp`, createSigningFetch(identity, { audience: TOOLS }))

const request =
  tool === undefined
    ? { method: 'tools/list', params: {} }
    : { method: 'tools/call', params: { name: tool, arguments: { name } } }
const send = (): Promise<Response> =>
  call(`${TOOLS}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
  })

const end = performance.now() + 60_000
let response = await send()
while (EXPECT !== undefined && String(response.status) !== EXPECT && performance.now() < end) {
  await response.body?.cancel()
  await pause(1000)
  response = await send()
}
if (response.ok) {
  const { result, error } = (await response.json()) as {
    result?: { tools?: { name: string }[]; content?: { text: string }[]; isError?: boolean }
    error?: { message: string }
  }
  console.log(error?.message ?? result?.content?.[0]?.text ?? result?.tools?.map((each) => each.name).join(', '))
  process.exitCode = error !== undefined || result?.isError === true ? 1 : 0
} else {
  console.log(`refused before the tool server, with status ${response.status}`)
  process.exitCode = String(response.status) === EXPECT ? 0 : 1
}
