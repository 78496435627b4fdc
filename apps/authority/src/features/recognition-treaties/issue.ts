import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { RecognitionTreatiesParts } from './parts.ts'
import { readIssueRequest } from './requests.ts'
import { signOnce } from './sign-treaty.ts'

/**
 * POST /admin/recognition-treaties
 * Recognises another sovereign, for a scope and a time.
 */
export async function issue(call: OperatorCall, parts: RecognitionTreatiesParts): Promise<HttpResponse> {
  const request = readIssueRequest(call.body, parts.network.name, parts.settings.allowedRoles)
  return signOnce(call, parts, request, (_tx, { text }) => Promise.resolve(text))
}
