import { recognitionPolicy } from '@chancery/contract'
import { type JsonObject, type RecognitionPolicy, readRecognitionPolicy, shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { omitUndefined } from '../http/omit-undefined.ts'

export type SavedRecognitionPolicy = {
  readonly policy_id: string
  readonly local_sovereign_id: string
  readonly active: boolean
}

export interface RecognitionPolicyApi {
  current(options?: CallOptions): Promise<RecognitionPolicy>
  /** Becomes the only active policy; a repeat changes only the time. */
  publish(
    request: { readonly recognition_policy: RecognitionPolicy | JsonObject; readonly policy_id?: string },
    options?: CallOptions,
  ): Promise<SavedRecognitionPolicy>
}

const word = shape.required(shape.string)

const readSaved = known({ policy_id: word, local_sovereign_id: word, active: shape.required(shape.boolean) })

export function recognitionPolicyApi({ call }: Connection): RecognitionPolicyApi {
  return {
    current: (options) => call({ route: recognitionPolicy.current, read: json(readRecognitionPolicy), options }),
    publish: (request, options) =>
      call({
        route: recognitionPolicy.publish,
        body: omitUndefined({ ...request }),
        repeatable: true,
        read: json((value) => readSaved(value, '')),
        options,
      }),
  }
}
