import { resolve } from 'node:path'
import { readWit } from '@chancery/protocol'
import { signWimseRequest } from '@chancery/sdk/wimse'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { connectAsNode, loadCertificate } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readBytes } from '../../files/files.ts'
import type { Result } from '../../output/screen.ts'

/** Runs `wit`: prints a token and the fields that prove one request with it. They count once, for a minute. */
export async function runWit(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const audience = options.required('audience')
  const url = requestUrl(options.text('request-url') ?? audience)
  const file = options.text('body')
  const body = file === undefined ? undefined : await readBytes(resolve(context.cwd, file))
  const connection = await connectAsNode(context, options)
  const { cert_id } = await loadCertificate(connection.files)
  const { wit, expires_at } = await connection.ask((client) => client.enrollment.wit({ cert_id }))
  if (readWit(wit)?.certificate.cert_id !== cert_id)
    throw new CommandError({
      code: 'invalid_token',
      message: 'The authority sent a token that is not of this certificate.',
      hint: 'Check --url, then run the command again.',
    })
  const method = options.text('method') ?? 'GET'
  const given = readPairs(options, 'header')
  const fields = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  const request = { method, url, audience, fields, now: context.now(), ...(body === undefined ? {} : { body }) }
  const proof = await signWimseRequest(request, { signer: connection.signer, wit })
  const headers = { ...fields, ...proof }
  context.note(`the token is valid until ${expires_at}; the signature is for one request in the next 60 seconds`)
  const text = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return { data: { wit, expires_at, headers }, text: text.join('\n') }
}

function requestUrl(text: string): string {
  if (!URL.canParse(text))
    throw usageError(
      'The address of the request is not a URL.',
      'Give --request-url <url> when the audience is no URL.',
    )
  return text
}
