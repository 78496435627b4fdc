import type { BoundaryPolicyVersion } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { authorityNow } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { NotLoaded, useLoaded } from '../../parts/lazy.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { useLive } from '../../parts/use-live.ts'
import { type Draft, NEW_POLICY, readDraftOf } from '../policies/drafts.ts'
import { readHistory } from '../policies/history.ts'
import { intentOf, policyText } from '../policies/policy-text.ts'
import type { DraftFormat } from './draft-format.ts'
import { Editor } from './editor.tsx'
import { loadFormat } from './load-format.ts'

/** What would change, and for whom? The key of the frame stays the same between policies, so the id is a key here. */
export function Page(props: PageProps): JSX.Element {
  return <DraftPage key={props.params['policy_id']} {...props} />
}

/** The draft of this browser and the script of its format, or why the draft cannot be read. */
type StoredDraft =
  | { readonly draft: Draft | undefined; readonly format: DraftFormat; readonly unread?: undefined }
  | { readonly format?: undefined; readonly unread: string }

function DraftPage({ params, query }: PageProps): JSX.Element {
  const id = params['policy_id'] ?? ''
  const isNew = id === NEW_POLICY
  const live = useLive(`draft ${id}`, (signal) =>
    isNew ? Promise.resolve([]) : readHistory(id, signal).then(({ versions }) => versions),
  )
  const stored = useLoaded(async (): Promise<StoredDraft> => {
    let draft: Draft | undefined
    try {
      draft = await readDraftOf(id)
    } catch (error) {
      return { unread: error instanceof Error ? error.message : String(error) }
    }
    return { draft, format: await loadFormat(draft?.format) }
  })
  if (live.value === undefined || stored.value?.format === undefined)
    return (
      <>
        <Bar title={isNew ? 'New policy' : id} crumbs={[{ href: '/operator/policies', text: 'Policies' }]} />
        {live.problem === undefined ? null : <Problem problem={live.problem} />}
        {stored.hasFailed === true ? <NotLoaded onAgain={stored.again} /> : null}
        {stored.value?.unread === undefined ? null : <NotRead reason={stored.value.unread} onAgain={stored.again} />}
      </>
    )
  const { draft, format } = stored.value
  return (
    <Editor id={id} versions={live.value} initial={draft ?? firstDraft(id, live.value)} format={format} query={query} />
  )
}

/** In place of the editor, which would replace the stored draft with another one. */
function NotRead(props: { readonly reason: string; readonly onAgain: () => void }): JSX.Element {
  return (
    <div role="alert" data-not-read>
      <Blank
        icon="policy"
        title="The draft in this browser cannot be read"
        text={`The browser reports: ${props.reason} The draft is unchanged. Try again, or load the page again.`}
      >
        <button type="button" class="btn primary" onClick={props.onAgain}>
          Try again
        </button>
      </Blank>
    </div>
  )
}

const DAY_MS = 86_400_000

/** A draft begins from the version in force, else from the newest, else from an example. */
function firstDraft(id: string, versions: readonly BoundaryPolicyVersion[]): Draft {
  const from =
    versions.find(({ active, policy }) => active && policy !== null) ?? versions.find(({ policy }) => policy !== null)
  const savedAt = ''
  if (from?.policy) return { id, text: policyText(intentOf(from.policy)), from: from.version, savedAt }
  const day = (ms: number): string => `${new Date(ms).toISOString().slice(0, 10)}T00:00:00Z`
  const example = {
    policy_id: id === NEW_POLICY ? 'spending' : id,
    description: 'Payments stay below the limit',
    valid_from: day(authorityNow()),
    valid_until: day(authorityNow() + 90 * DAY_MS),
    selector: { capabilities: ['pay.*'] },
    gates: [
      {
        gate_id: 'amount',
        gate_type: 'max_value.v1',
        order: 0,
        config: { path: 'request_parameters.amount', max: 1000 },
      },
    ],
  }
  return { id, text: JSON.stringify(example, null, 2), from: undefined, savedAt }
}
