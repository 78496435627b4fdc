import { resolve } from 'node:path'
import { readWit } from '@chancery/protocol'
import { signWimseRequest } from '@chancery/sdk/wimse'
import { signRequest } from '@chancery/sdk/protocol'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { readBounded } from '../../connection/read-bounded.ts'
import { type NodeConnection, connectAsNode, loadCertificate } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readBytes } from '../../files/files.ts'
import type { Result } from '../../output/screen.ts'

/** Runs `node call`: one request with the proof of this node, or only the header fields of the proof. */
export async function runNodeCall(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const url = requestUrl(args.required('address'))
  const audience = options.text('audience') ?? new URL(url).origin
  const file = options.text('body')
  const body = file === undefined ? undefined : await readBytes(resolve(context.cwd, file))
  const given = Object.entries(readPairs(options, 'header'))
  const fields = Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value]))
  const method = options.textOrDefault('method')
  const connection = await connectAsNode(context, options)
  const request = { method, url, audience, fields, now: context.now(), ...(body === undefined ? {} : { body }) }
  const isWimse = options.textOrDefault('profile') === 'wimse'
  const headers = { ...fields, ...(await (isWimse ? wimseFields : proofFields)(context, connection, request)) }
  if (options.isSet('print-headers')) {
    context.note('the signature is for one request in the next 60 seconds')
    const text = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    return { data: { headers }, text: text.join('\n') }
  }
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  }).catch((error: unknown) => {
    throw new CommandError({ code: 'unreachable', message: `Nothing answers at ${url}.` }, { cause: error })
  })
  const answer = await readBounded(response, MAX_BYTES)
  if (answer === undefined)
    throw new CommandError({ code: 'answer_too_large', message: `The answer is larger than ${MAX_BYTES} bytes.` })
  const text = Buffer.from(answer).toString()
  return { data: { status: response.status, body: text }, text, exitCode: response.ok ? 0 : 1 }
}

const MAX_BYTES = 16 * 1024 * 1024

interface ProvenRequest {
  readonly method: string
  readonly url: string
  readonly audience: string
  readonly fields: Readonly<Record<string, string>>
  readonly now: bigint
  readonly body?: Uint8Array
}

async function wimseFields(
  _context: CommandContext,
  connection: NodeConnection,
  request: ProvenRequest,
): Promise<Readonly<Record<string, string>>> {
  const { cert_id } = await loadCertificate(connection.files)
  const { wit } = await connection.ask((client) => client.enrollment.wit({ cert_id }))
  if (readWit(wit)?.certificate.cert_id !== cert_id)
    throw new CommandError({
      code: 'invalid_token',
      message: 'The authority sent a token that is not of this certificate.',
      hint: 'Check --url, then run the command again.',
    })
  return signWimseRequest(request, { signer: connection.signer, wit })
}

async function proofFields(
  _context: CommandContext,
  connection: NodeConnection,
  request: ProvenRequest,
): Promise<Readonly<Record<string, string>>> {
  const certificate = await loadCertificate(connection.files)
  const { authorization } = request.fields
  const about = { ...request, ...(authorization === undefined ? {} : { authorization }) }
  return signRequest(about, { signer: connection.signer, certificate })
}

function requestUrl(text: string): string {
  if (!URL.canParse(text))
    throw usageError('The address of the request is not a URL.', 'For example https://print.example/jobs.')
  return text
}
