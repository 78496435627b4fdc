import { type Markup, markup } from '@chancery/service-kit'
import { figure } from '../../pages/parts.ts'

/** The parts of the Connectome as links. They need no script: three are places of one page, the fourth is the atlas. */
export function connectomeTabs(current: '/connectome' | '/atlas', treaties: number, withdrawn: number): Markup {
  const link = (href: string, text: string, count?: number): Markup =>
    markup`<a href="${href}"${href === current && markup` aria-current="page"`}>${text}${count !== undefined && markup` <span class="n">${figure(count)}</span>`}</a>`
  return markup`<nav class="tabs" aria-label="Connectome">${link('/connectome', 'Map')}${link('/connectome#treaties', 'Treaties', treaties)}${link('/connectome#withdrawn', 'Withdrawn by others', withdrawn)}${link('/atlas', 'Digest and exports')}</nav>`
}
