import type { TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { at, readPublic } from '../../client.ts'
import { networkFact } from '../../frame.tsx'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Problem } from '../../parts/problem.tsx'
import { useLive } from '../../parts/use-live.ts'
import { navigate } from '../../router.ts'

/** Goes to the partner of a treaty, with this treaty picked. */
export function Page({ params, query }: PageProps): JSX.Element {
  const id = params['treaty_id'] ?? ''
  const { value, problem } = useLive(`treaty ${id}`, (signal) =>
    readPublic<TreatyRow>(at`/recognition-treaties/${id}`, signal),
  )
  useEffect(() => {
    if (value === undefined) return
    const { issuer_sovereign_id: issuer, subject_sovereign_id: subject } = value.treaty
    const partner = subject === networkFact('network') ? issuer : subject
    const next = new URLSearchParams(query)
    next.set('treaty', id)
    navigate(`/operator/partners/${encodeURIComponent(partner)}?${next.toString()}`, { replace: true })
  }, [value])
  return (
    <>
      <Bar title="Treaty" crumbs={[{ href: '/operator/partners?tab=treaties', text: 'Treaties' }]} />
      <div class="content" aria-busy={problem === undefined}>
        {problem === undefined ? null : <Problem problem={problem} />}
      </div>
    </>
  )
}
