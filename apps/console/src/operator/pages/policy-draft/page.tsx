import type { BoundaryPolicyVersion } from '@chancery/sdk'
import type { JSX } from 'preact'
import { authorityNow } from '../../client.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { NotLoaded, useLoaded } from '../../parts/lazy.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useLive } from '../../parts/use-live.ts'
import { NEW_POLICY, readDraftOf } from '../policies/drafts.ts'
import type { Draft } from '../policies/drafts.ts'
import { readHistory } from '../policies/history.ts'
import { intentOf, policyText } from '../policies/policy-text.ts'
import { Editor } from './editor.tsx'
import { loadFormat } from './load-format.ts'

/** What would change, and for whom? The key of the frame stays the same between policies, so the id is a key here. */
export function Page(props: PageProps): JSX.Element {
  return <DraftPage key={props.params['policy_id']} {...props} />
}

function DraftPage({ params, query }: PageProps): JSX.Element {
  const id = params['policy_id'] ?? ''
  const isNew = id === NEW_POLICY
  const live = useLive(`draft ${id}`, (signal) =>
    isNew ? Promise.resolve([]) : readHistory(id, signal).then(({ versions }) => versions),
  )
  const stored = useLoaded(async () => {
    const draft = await readDraftOf(id)
    return { draft, format: await loadFormat(draft?.format) }
  })
  if (live.value === undefined || stored.value === undefined)
    return (
      <>
        <Bar title={isNew ? 'New policy' : id} crumbs={[{ href: '/operator/policies', text: 'Policies' }]} />
        {live.problem === undefined ? null : <Problem problem={live.problem} />}
        {stored.hasFailed === true ? <NotLoaded onAgain={stored.again} /> : null}
      </>
    )
  const { draft, format } = stored.value
  return (
    <Editor id={id} versions={live.value} initial={draft ?? firstDraft(id, live.value)} format={format} query={query} />
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
