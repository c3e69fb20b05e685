"""One page for a report: tables, charts, settings, versions, how to reproduce. Nothing is fetched; no script runs.

It draws the same blocks as the terminal (views.py). Wide tables scroll inside their own box, so a phone never scrolls
sideways; dark and printed pages have their own colours.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from importlib import metadata

from enrelm_cli.files import write_whole
from enrelm_cli.inputs.inspection.findings import Finding
from enrelm_cli.report import words
from enrelm_cli.report.blocks import Block, Column, Facts, Grid, Headline, Remarks, Spark
from enrelm_cli.report.check_view import check_columns, check_head
from enrelm_cli.report.class_reports import ClassFacts, class_facts_of
from enrelm_cli.report.compare_view import compare_view, ranks_view
from enrelm_cli.report.curve_view import curve_view
from enrelm_cli.report.explain_report import ExplainReport, ModelPage, TargetPages
from enrelm_cli.report.explain_view import explain_facts, explain_view
from enrelm_cli.report.reports import CheckReport, CompareReport, CurveReport, DataFacts, Json
from enrelm_cli.report.targets.views import targets_brief
from enrelm_cli.report.views import Report, flat_settings, view
from enrelm_cli.show import svg
from enrelm_cli.show.chart import compare_chart, curve_chart, sizes_chart, time_chart
from enrelm_cli.show.class_charts import class_charts
from enrelm_cli.show.explanation.sections import columns_section, effects_section, errors_section, widths_section
from enrelm_cli.show.palette import css_variables, paint_of

_CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1b1b;--soft:#5a5a5a;--rule:#d9d9d9;--tint:#f4f5f7;--win:#00684a;
--warn:#8a5a00;LIGHT}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e8e8e8;--soft:#a9adb3;--rule:#3a3e44;--tint:#1e2126;
--win:#4fd1a5;--warn:#e6b34d;DARK}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.35rem;line-height:1.3;margin:.5rem 0 1rem}
h2{font-size:1.1rem;margin:2rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .4rem}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15rem 1rem;margin:.5rem 0}
dt{color:var(--soft)}dd{margin:0}
.wide{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.3rem .7rem;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap}
th{vertical-align:bottom;font-weight:600}th small{display:block;font-weight:400;color:var(--soft)}
.number{text-align:right}
tr.won td{color:var(--win);font-weight:600}
.bar{width:8rem;min-width:8rem}.bar i{display:block;height:.7rem;background:var(--other)}
tr.won .bar i{background:var(--win)}
.long{white-space:normal;min-width:11rem}
ul.found{list-style:none;padding:0;margin:.8rem 0}
ul.found li{margin:.5rem 0;padding-left:.7rem;border-left:3px solid var(--rule)}
ul.found b{font-size:.8rem;text-transform:uppercase;color:var(--soft)}
ul.found b.error{color:var(--boosting)}ul.found b.warning{color:var(--warn)}ul.found code{color:var(--win)}
.spark svg{display:block;width:6rem;height:1.4rem;fill:var(--kernel)}
ul.remarks{padding-left:1.2rem;color:var(--soft);margin:.5rem 0}
pre{background:var(--tint);padding:.7rem;overflow-x:auto;margin:.4rem 0;overflow-wrap:normal}
code,pre{font:.9em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
.charts{display:flex;flex-wrap:wrap;gap:1rem}
figure{margin:.5rem 0;flex:1 1 22rem;max-width:34rem;min-width:0}
figure svg[viewBox]{display:block;width:100%;height:auto}
figcaption{color:var(--soft);font-size:.9rem}
svg text{fill:var(--ink);font-size:12px}
.axis{stroke:var(--soft);fill:none}.cloud{fill:none;stroke-width:3;stroke-linecap:round;opacity:.55}.grid{stroke:var(--rule);stroke-width:.6;fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.thin{stroke-width:1;opacity:.8}.dashed{stroke-dasharray:7 4}
.dotted{stroke-dasharray:2 3;stroke-width:1.4}.band{opacity:.25}.dot{stroke:var(--paper);stroke-width:1.2}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;padding:0;margin:.3rem 0;font-size:.85rem}
.legend svg{vertical-align:-2px}
details{margin:.5rem 0}summary{cursor:pointer}
@media (max-width:30rem){table{font-size:.85rem}th,td{padding:.25rem .4rem}th:empty,.bar{display:none}
pre{white-space:pre-wrap;overflow-wrap:anywhere}}
@page{margin:1.5cm}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--rule:#bbb;--tint:#f4f5f7;--win:#00684a;--kernel:#0072b2;
--warn:#8a5a00;--approximate:#e69f00;--incremental:#009e73;--elm:#cc79a7;--boosting:#d55e00;--other:#56b4e9}
body{max-width:none;padding:0;font-size:10pt}.wide,pre{overflow:visible}pre{white-space:pre-wrap}
.charts{display:grid;grid-template-columns:1fr 1fr;gap:.3cm}figure{margin:.2cm 0;max-width:8.5cm}
h2,h3{break-after:avoid}
th,td{white-space:normal;padding:.15rem .4rem}figure,tr,dl{break-inside:avoid}details:not([open]){display:none}}
"""

PageReport = (
    CheckReport | CurveReport | CompareReport | Sequence[CompareReport] | ExplainReport | ModelPage | TargetPages
)

# The same rules nested in one class.
_INSIDE = ".enrelm{" + _CSS.replace(":root{", "&{").replace("body{", "&{").replace("@page{margin:1.5cm}", "") + "}"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
{body}
</body>
</html>
"""


def write(report: PageReport, path: str, command_line: str) -> None:
    """The page, whole or not at all."""
    write_whole(path, page(report, command_line).encode("utf-8", "backslashreplace"))


def page(report: PageReport, command_line: str) -> str:
    """The page as text."""
    if isinstance(report, CheckReport):
        title, body = f"Check of {report.name}", _check_body(report)
        tables = [DataFacts(report.name, report.rows or 0, 0, (), report.target or "not given", report.hash)]
        settings = report.settings
    elif isinstance(report, ExplainReport):
        title, body = f"What {report.model} has learnt of {report.target}", _explain_body(report)
        tables, settings = [] if report.fitted is None else [report.fitted], report.settings
    elif isinstance(report, ModelPage):
        title, body = f"{report.report.variant} model of {report.fitted.target}", _model_body(report)
        tables, settings = [report.fitted], report.report.settings
    elif isinstance(report, TargetPages):
        first, names = report.pages[0], report.report.targets
        title, body = f"{first.report.variant} model of {', '.join(names)}", _targets_body(report)
        tables, settings = [replace(first.fitted, target=", ".join(names))], first.report.settings
    elif isinstance(report, CurveReport):
        title, body = f"Error curve of {report.data.name}", _curve_body(report)
        tables, settings = [report.data], report.settings
    else:
        reports = [report] if isinstance(report, CompareReport) else list(report)
        title = "Comparison on " + ", ".join(one.data.name for one in reports)
        body = "".join(_compare_body(one, number) for number, one in enumerate(reports))
        if len(reports) > 1:
            body += _blocks(ranks_view(reports))
        tables, settings = [one.data for one in reports], reports[0].to_json()["settings"]
    body += _appendix(tables, settings, command_line)
    css = _CSS.replace("LIGHT", css_variables(dark=False)).replace("DARK", css_variables(dark=True))
    return _PAGE.format(title=_text(title), css=css, body=body)


def _check_body(report: CheckReport) -> str:
    return _blocks(check_head(report)) + _findings(report.findings) + _blocks(check_columns(report))


def _explain_body(report: ExplainReport) -> str:
    """Everything that is known, with a chart for each column."""
    head: list[Block] = [explain_view(report)[0], explain_facts(report)]
    parts = [_blocks(head), *effects_section(report, _paint, _blocks), *errors_section(report, _paint, _blocks)]
    return "\n".join([*parts, *columns_section(report.columns, _blocks)])


def _model_body(page: ModelPage) -> str:
    """The report without its own table of columns, the curve, what was learnt, and the table of columns."""
    shown = [block for block in view(page.report) if not (isinstance(block, Grid) and block.title == "columns")]
    parts = [_blocks(shown[:-1])]
    curve = page.curve
    if curve is not None and curve.only_size is None:
        chart = sizes_chart("Error of every size", [curve], None, page.report.linear_error, training=True)
        parts += ["<h2>Error curve</h2>", f'<div class="charts">{svg.figure("curve", chart, _paint)}</div>']
    found = page.report.classes
    if found is not None:
        found = found if isinstance(found, ClassFacts) else class_facts_of(found)
        charts = [
            svg.figure(name, chart, _paint)
            for name, chart in class_charts(page.report.variant, found.classes, found.validation)
        ]
        parts += ["<h2>Probabilities of the validation rows</h2>", f'<div class="charts">{"".join(charts)}</div>']
    if page.explained is not None:
        parts += effects_section(page.explained, _paint, _blocks)
        parts += errors_section(page.explained, _paint, _blocks)
    parts += widths_section(page, _blocks)
    return "\n".join([*parts, *columns_section(page.columns, _blocks), _blocks(shown[-1:])])


def _targets_body(pages: TargetPages) -> str:
    """What the targets have in common, and a part for each."""
    parts = [_blocks(targets_brief(pages.report))]
    for number, (name, page) in enumerate(zip(pages.report.targets, pages.pages, strict=True)):
        # Charts of the same name are of another target.
        own = re.sub(r'( id="| aria-labelledby="| clip-path="url\(#)', rf"\g<1>target{number}-", _model_body(page))
        parts.append(f'<section id="target{number}">{_block(Headline(f"Target {name}"))}{own}</section>')
    return "\n".join(parts)


def _findings(findings: Sequence[Finding]) -> str:
    """A list, the options to type as code."""
    lines = []
    for one in findings:
        option = f"<code>{_text(one.option)}</code>" if one.option else ""
        remedy = " ".join(filter(None, (option, _text(one.effect or ""))))
        text = "<br>".join(_text(line) for line in one.text.splitlines())
        lines.append(f'<li><b class="{one.level}">{one.level}</b> {text}{f"<br>{remedy}" if remedy else ""}</li>')
    return f'<ul class="found">{"".join(lines)}</ul>' if lines else ""


def fragment(report: Report) -> str:
    """The report for a notebook: a page's blocks and charts, with a style of their own that stays inside."""
    if isinstance(report, CurveReport):
        body = _curve_body(report)
    elif isinstance(report, CompareReport):
        body = _compare_body(report, 0)
    elif isinstance(report, ExplainReport):
        body = _explain_body(report)
    else:
        body = _blocks(view(report))
    return f'<div class="enrelm"><style>{_INSIDE}</style>{body}</div>'


def _curve_body(report: CurveReport) -> str:
    blocks = curve_view(report)
    at = next(i for i, block in enumerate(blocks) if isinstance(block, Grid))
    chart = svg.figure("curve", curve_chart(report), _paint)
    return _blocks(blocks[:at]) + f'<div class="charts">{chart}</div>' + _blocks(blocks[at:]) + _values(report)


def _compare_body(report: CompareReport, number: int) -> str:
    charts = svg.figure(f"time{number}", time_chart(report), _paint)
    curves = compare_chart(report)
    if curves is not None:
        charts += svg.figure(f"curves{number}", curves, _paint)
    return _blocks(compare_view(report)) + f'<div class="charts">{charts}</div>'


def _paint(method: str) -> str:
    """By variables, so that the light and the dark theme also paint the charts."""
    return f"var(--{paint_of(method).name})"


# --- blocks ----------------------------------------------------------------------------------------------------------


def _text(text: str) -> str:
    """Escaped, with units and spreads kept on the line of their number."""
    return escape(words.visible(text)).replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")


def _blocks(blocks: Sequence[Block]) -> str:
    return "\n".join(_block(block) for block in blocks) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Headline):
        return f"<h1>{_text(block.text)}</h1>"
    if isinstance(block, Facts):
        items = (f"<dt>{_text(name)}</dt><dd>{'<br>'.join(map(_text, lines))}</dd>" for name, lines in block.items)
        return f"<dl>{''.join(items)}</dl>"
    if isinstance(block, Remarks):
        return f'<ul class="remarks">{"".join(f"<li>{_text(line)}</li>" for line in block.lines)}</ul>'
    if isinstance(block, Grid):
        title = f"<h3>{_text(block.title.capitalize())}</h3>" if block.title else ""
        return title + _table(block)
    return f"<h3>{_text(block.purpose.capitalize())}</h3><pre><code>{_text(block.line)}</code></pre>"


def _table(grid: Grid) -> str:
    head = "".join(_head(column) for column in grid.columns)
    rows = []
    for line in grid.lines:
        cells = []
        for column, cell in zip(grid.columns, line.cells, strict=True):
            if isinstance(cell, str):
                cells.append(f"<td{_class(column)}>{_text(cell)}</td>")
            elif isinstance(cell, Spark):
                cells.append(f'<td class="spark">{svg.spark(cell.shares)}</td>')
            else:
                cells.append(f'<td class="bar"><i style="width:{100 * cell.share:.1f}%"></i></td>')
        won = ' class="won"' if line.marked else ""
        rows.append(f"<tr{won}>{''.join(cells)}</tr>")
    return (
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _class(column: Column) -> str:
    kind = "number" if column.number else "long" if column.long else ""
    return f' class="{kind}"' if kind else ""


def _head(column: Column) -> str:
    unit = f"<small>{_text(column.unit)}</small>" if column.unit else ""
    return f"<th{_class(column)}>{_text(column.name)}{unit}</th>"


def _values(report: CurveReport) -> str:
    """Every point of the curves, folded away."""
    curves = [curve for curve in report.curves if curve.only_size is None]
    if not curves:
        return ""
    columns = [Column("neurons", number=True)]
    for curve in curves:
        columns += [Column(curve.variant, kind, number=True) for kind in ("training", "validation")]
    longest = max(len(curve.validation) for curve in curves)
    lines = []
    for i in range(longest):
        row = [words.count(i + 1)]
        for curve in curves:
            there = i < len(curve.validation)
            row += [words.error(float(of[i])) if there else "" for of in (curve.train, curve.validation)]
        cells = "".join(f'<td class="number">{_text(cell)}</td>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    head = "".join(_head(column) for column in columns)
    return (
        f'<details><summary>All {words.count(longest)} sizes</summary><div class="wide" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def _appendix(tables: Sequence[DataFacts], settings: Json, command_line: str) -> str:
    data = Facts(
        tuple(
            (one.name, (f"{words.counted(one.rows, 'row')}, target {one.target}", f"content hash {one.hash}"))
            for one in tables
        )
    )
    how = "The same data (by content hash), settings and versions give the same results, except for times."
    return (
        f"<h2>How to reproduce</h2><p>{how}</p><pre><code>{_text(command_line)}</code></pre>{_block(data)}"
        f"<h2>Settings</h2>{_pairs(flat_settings(settings))}<h2>Versions</h2>{_pairs(versions())}"
    )


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return _block(Facts(tuple((name, (value,)) for name, value in pairs)))


def versions() -> list[tuple[str, str]]:
    """What produced the figures."""
    answer = [("python", platform.python_version()), ("machine", f"{platform.system()} {platform.machine()}")]
    for name in ("enrelm", "numpy", "scipy", "pyarrow", "joblib"):
        try:
            answer.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return answer
