import { resolve } from 'node:path'
import { JsonError, isJsonObject, readJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { readText } from '../../files.ts'
import type { Arguments, Options } from '../../options.ts'
import { checkSignature } from './check-signature.ts'
import { describePolicy } from './describe.ts'

/** network-policy publish: sends the file as it is; the authority reads, signs and activates it. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const request = await loadRequest(context.cwd, args.required('file'))
  const connection = await connectAsOperator(context, options)
  const { manifest, created } = await connection.ask((client) => client.policy.publish(request))
  const signature = await checkSignature(connection, manifest)
  const title = created ? `${style.good('Published')} and active:` : 'This version was stored before; it is active:'
  return { data: manifest, text: `${title}\n${describePolicy(manifest, signature, style)}` }
}

/** Read by the strict reader: what is signed is exactly what the authority will read. */
async function loadRequest(cwd: string, file: string): Promise<JsonObject> {
  const text = await readText(resolve(cwd, file))
  try {
    const value = readJson(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new Failure({ code: 'invalid_json', message: `${file} is not JSON: ${error.message}.` }, { cause: error })
  }
  throw new Failure({ code: 'invalid_json_object', message: `${file} must hold a JSON object.` })
}
