// Python bindings of stream learners.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "stream_core.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace aggro;

namespace {

/// Return the stream of an object; Python can make objects without calling `__init__`.
Stream& stream_of(nb::handle self) {
    if (!nb::inst_ready(self) || !nb::inst_ptr<Stream>(self)->begun())
        throw std::runtime_error(
            "the model is not initialised; call super().__init__() before other methods");
    return *nb::inst_ptr<Stream>(self);
}

using Arguments = PyObject* const*;

/// Let nanobind translate the exception that is being handled, as for its own functions.
PyObject* translate_exception() {
    static thread_local std::exception_ptr pending;
    static PyObject* const rethrow =
        nb::cpp_function([] { std::rethrow_exception(std::exchange(pending, nullptr)); })
            .release()
            .ptr();
    pending = std::current_exception();
    return PyObject_CallNoArgs(rethrow);
}

/// Call a method with positional arguments, or return null without an error if these are not all.
PyObject* learn_at_once(Stream& stream, nb::handle self, Arguments args, Py_ssize_t count) {
    if (count != 2) return nullptr;
    stream.learn_or_record(self, args[0], args[1], 1.0);
    return nb::none().release().ptr();
}
PyObject* predict_at_once(Stream& stream, nb::handle self, Arguments args, Py_ssize_t count) {
    return count == 1 ? stream.predict(self, args[0]).release().ptr() : nullptr;
}
PyObject* flush_at_once(Stream& stream, nb::handle self, Arguments, Py_ssize_t count) {
    if (count != 0) return nullptr;
    stream.flush(self);
    return nb::none().release().ptr();
}

/// Replace a method by a built-in method with a signature: `inspect.signature` cannot read those of
/// nanobind's methods, which river and other tools ask for, and a Python function would cost more
/// per call. It calls `at_once` itself if it can, and the method of nanobind otherwise.
template <auto at_once>
void give_signature(nb::handle type, const char* name, const char* doc) {
    static PyObject* method = nullptr;
    static const auto call = [](PyObject* self, Arguments args, Py_ssize_t count,
                                PyObject* names) -> PyObject* {
        if (!names) try {
                PyObject* result = at_once(stream_of(self), self, args, count);
                if (result) return result;
            } catch (...) {
                return translate_exception();
            }
        std::array<PyObject*, 8> all{self};
        const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
        if (count + named >= static_cast<Py_ssize_t>(all.size())) {
            PyErr_SetString(PyExc_TypeError, "too many arguments");
            return nullptr;
        }
        std::copy_n(args, count + named, all.begin() + 1);
        return PyObject_Vectorcall(method, all.data(), static_cast<std::size_t>(count) + 1, names);
    };
    static PyMethodDef definition{};
    if (method) return;
    method = nb::object(type.attr(name)).release().ptr();
    PyObject* (*const entry)(PyObject*, Arguments, Py_ssize_t, PyObject*) = call;
    definition = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry)),
                  METH_FASTCALL | METH_KEYWORDS, doc};
    auto* owner = reinterpret_cast<PyTypeObject*>(type.ptr());
    nb::setattr(type, name, nb::steal(PyDescr_NewMethod(owner, &definition)));
}

}  // namespace

void bind_stream(nb::module_& m) {
    nb::class_<StreamState>(m, "StreamState", "A copy of the state of a stream, to restore it.");
    nb::class_<StreamLock>(m, "StreamLock",
                           "A context manager that locks a stream for several calls.")
        .def("__enter__", &StreamLock::enter)
        .def(
            "__exit__", [](StreamLock& self, const nb::args&) { self.leave(); },
            nb::sig("def __exit__(self, *error: object) -> None"));
    nb::class_<Stream>(m, "Stream", "A model that learns dicts, one at a time.")
        .def(
            "__init__",
            [](Stream* self, bool regression, std::size_t batch_size, std::size_t max_features,
               bool hashed, bool zeros) {
                new (self) Stream(regression, {batch_size, max_features, hashed, zeros});
            },
            "regression"_a, "batch_size"_a, "max_features"_a, "hashed"_a, "zeros"_a)
        .def(
            "learn_one",
            [](nb::handle self, nb::handle x, nb::handle y, double w) {
                stream_of(self).learn_or_record(self, x, y, w);
            },
            "x"_a.none(), "y"_a.none(), "w"_a = 1.0,
            nb::sig("def learn_one(self, x: collections.abc.Mapping[typing.Any, typing.Any], y: "
                    "typing.Any, "
                    "w: float = 1.0) -> None"),
            "Learn from the features x and the target y; w, the weight of the example, multiplies "
            "C.")
        .def(
            "_learn",
            [](nb::handle self, nb::handle x, nb::handle y, double w) {
                stream_of(self).learn(self, x, y, w);
            },
            "x"_a.none(), "y"_a.none(), "w"_a,
            nb::sig("def _learn(self, x: typing.Any, y: typing.Any, w: float) -> None"))
        .def_rw("_records_margins", &Stream::records_margins)
        .def(
            "predict_one",
            [](nb::handle self, nb::handle x) { return stream_of(self).predict(self, x); },
            "x"_a.none(),
            nb::sig("def predict_one(self, x: collections.abc.Mapping[typing.Any, typing.Any]) -> "
                    "typing.Any"),
            "Predict the target for the features x. Features that were never learned count as "
            "zero.")
        .def(
            "flush", [](nb::handle self) { stream_of(self).flush(self); },
            nb::sig("def flush(self) -> None"),
            "Learn the waiting examples of an incomplete mini-batch.")
        .def(
            "_margins",
            [](nb::handle self, nb::handle x) { return stream_of(self).margins(self, x); },
            "x"_a.none(),
            nb::sig("def _margins(self, x: typing.Any) -> tuple[list[typing.Any], list[float]]"))
        .def(
            "_contributions",
            [](nb::handle self, const nb::dict& x) {
                return stream_of(self).contributions(self, x);
            },
            "x"_a,
            nb::sig("def _contributions(self, x: dict[typing.Any, typing.Any]) -> typing.Any"))
        .def("_rebuild", &Stream::rebuild, "classes"_a, "shape"_a, "groups"_a, "own_sum"_a,
             "average_from"_a, "memory"_a, "arrays"_a,
             nb::sig("def _rebuild(self, classes: list[typing.Any], shape: Shape, groups: "
                     "list[Group], own_sum: list[int], average_from: int, memory: float, arrays: "
                     "dict[str, typing.Any]) -> None"))
        .def("_select_models", &Stream::select_models, "classes"_a, "selection"_a,
             nb::sig("def _select_models(self, classes: list[typing.Any], selection: typing.Any) "
                     "-> None"))
        .def_prop_rw("_selection", &Stream::selection, &Stream::set_selection)
        .def("_renumber_classes", &Stream::renumber_classes, "classes"_a, "position"_a,
             nb::sig("def _renumber_classes(self, classes: list[typing.Any], position: "
                     "collections.abc.Sequence[int]) -> None"))
        .def("_add_first_class", &Stream::add_first_class, "label"_a,
             nb::sig("def _add_first_class(self, label: typing.Any) -> None"))
        .def("_add_classes", &Stream::add_classes, "classes"_a, "position"_a, "change"_a, "shape"_a,
             "groups"_a, "own_sum"_a, "average_from"_a, "memory"_a,
             nb::sig("def _add_classes(self, classes: list[typing.Any], position: "
                     "collections.abc.Sequence[int], change: collections.abc.Sequence[float], "
                     "shape: Shape, groups: list[Group], own_sum: list[int], average_from: int, "
                     "memory: float) -> None"))
        .def("_relabel", &Stream::relabel, "classes"_a, "from_outputs"_a,
             nb::sig("def _relabel(self, classes: list[typing.Any], from_outputs: "
                     "collections.abc.Sequence[int]) -> None"))
        .def("_widen_labels", &Stream::add_labels, "classes"_a, "from_outputs"_a, "shape"_a,
             "groups"_a, "own_sum"_a, "average_from"_a, "memory"_a,
             nb::sig("def _widen_labels(self, classes: list[typing.Any], from_outputs: "
                     "collections.abc.Sequence[int], shape: Shape, groups: list[Group], own_sum: "
                     "list[int], average_from: int, memory: float) -> None"))
        .def_prop_ro("_several", &Stream::several)
        .def("_resume", &Stream::resume, "names"_a, "arrays"_a,
             nb::sig("def _resume(self, names: list[typing.Any], arrays: dict[str, typing.Any]) -> "
                     "None"))
        .def("_dump", &Stream::dump, "with_model"_a = true,
             nb::sig("def _dump(self, with_model: bool = True) -> tuple[list[typing.Any], "
                     "list[typing.Any], dict[str, "
                     "typing.Any]]"))
        .def("_names", &Stream::names, nb::sig("def _names(self) -> list[typing.Any]"))
        .def_prop_ro("_ignored", &Stream::ignored)
        .def("_classes", &Stream::classes, nb::sig("def _classes(self) -> list[typing.Any]"))
        .def("_progress", &Stream::progress,
             nb::sig("def _progress(self) -> tuple[float, float, float]"))
        .def("_weights", &Stream::weights,
             nb::sig("def _weights(self) -> tuple[typing.Any, typing.Any]"))
        .def_prop_ro(
            "_lock", [](Stream& self) { return new StreamLock(self.lock()); },
            nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(),
            "Lock the stream for several calls: with stream._lock: ...")
        .def("_copy_state", &Stream::copy_state)
        .def("_restore_state", &Stream::restore_state, "state"_a)
        .def_prop_ro("_slots", &Stream::slots)
        .def_prop_ro("_taken", &Stream::taken)
        .def_prop_ro("examples", &Stream::examples, "Number of examples learned from.");
    m.def(
        "give_signatures",
        [](nb::handle stream) {
            give_signature<learn_at_once>(
                stream, "learn_one",
                "learn_one($self, /, x, y, w=1.0)\n--\n\nLearn from the features x "
                "and the target y; w, the weight of the example, multiplies C.");
            give_signature<predict_at_once>(
                stream, "predict_one",
                "predict_one($self, /, x)\n--\n\nPredict the target for the features "
                "x. Features that were never learned count as zero.");
            give_signature<flush_at_once>(stream, "flush",
                                          "flush($self, /)\n--\n\nLearn the waiting examples of an "
                                          "incomplete mini-batch.");
        },
        "stream"_a, nb::sig("def give_signatures(stream: type) -> None"),
        "Make the signatures of public methods readable for inspect.signature.");
}
