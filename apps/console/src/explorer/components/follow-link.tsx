import type { JSX } from 'preact'
import { writeLocation } from '../view-location.ts'

/** Leads from a response to what the audit stored of its request. */
export function FollowLink({ requestId }: { readonly requestId: string | undefined }): JSX.Element | null {
  if (requestId === undefined) return null
  return (
    <p>
      <a class="btn" href={writeLocation('request', requestId)} data-follow>
        Follow this request
      </a>
    </p>
  )
}
