import { createClient } from '@chancery/sdk'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { OperatorPage } from '../../../pages/operator/operator-page.tsx'
import { openSigner, session } from '../../key.ts'
import { Bar } from '../../parts/bar.tsx'

/** The actions that have no drawer yet, in the forms of the former operator page, with the key of this session. */
export function Page(): JSX.Element {
  const client = useMemo(() => {
    const audience = session.get()?.audience ?? ''
    return createClient({ url: location.origin, operator: { signer: openSigner(), audience } })
  }, [])
  return (
    <>
      <Bar title="All actions" asks="Actions that have no page yet" />
      <div class="content all-actions">
        <OperatorPage client={client} />
      </div>
    </>
  )
}
